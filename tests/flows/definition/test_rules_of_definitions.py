"""The rules of definitions: at each limit a definition is read, beyond it it is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from flows.definition import DefinitionError, Flow, inspect, load, localize, migrate
from flows.words import snakify
from tests.flows.definition.specimens import (
    ASK,
    CALL,
    OUT,
    SEND,
    YES,
    Json,
    make_case,
    make_flow,
    make_node,
    make_router,
    make_uuid,
)

Change = Callable[[Json], Any]
SAY: Json = {"type": "send_msg", "uuid": SEND, "text": "Hello @fields.town"}


def make_specimen(version: str = "14.4.2") -> Json:
    wait = {"type": "msg", "timeout": {"seconds": 60, "category_uuid": YES}}
    router = make_router("@input.text", make_case("has_any_word", "yes"), result_name="Answer", wait=wait)
    return make_flow(make_node(SAY, router=router), version=version)


def change_and_load(change: Change) -> Flow:
    definition = copy.deepcopy(make_specimen())
    change(definition)
    return load(definition)


def node(definition: Json) -> Any:
    return definition["nodes"][0]


def fill(count: int, first: int, make: Callable[[str], Json]) -> list[Json]:
    return [make(make_uuid(first + number)) for number in range(count)]


def set_actions(count: int) -> Change:
    return lambda flow: node(flow).update(actions=fill(count, 5000, lambda uuid: {**SAY, "uuid": uuid}))


def add_exits(count: int) -> Change:
    return lambda flow: node(flow)["exits"].extend(fill(count - 1, 6000, lambda uuid: {"uuid": uuid}))


def add_categories(count: int) -> Change:
    return lambda flow: node(flow)["router"]["categories"].extend(
        fill(count - 1, 7000, lambda uuid: {"uuid": uuid, "name": "More", "exit_uuid": OUT})
    )


def set_cases(count: int) -> Change:
    return lambda flow: node(flow)["router"].update(
        cases=fill(count, 8000, lambda uuid: make_case("has_text", uuid=uuid))
    )


def add_nodes(count: int) -> Change:
    def add(flow: Json) -> None:
        for number in range(count - 1):
            flow["nodes"].append(make_node(uuid=make_uuid(9000 + number), out=make_uuid(20000 + number)))

    return add


def put(*path: Any) -> Change:
    """Puts the last item in the place that the others lead to."""

    def change(flow: Json) -> None:
        part: Any = flow
        for step in path[:-2]:
            part = part[step]
        part[path[-2]] = path[-1]

    return change


def take(*path: Any) -> Change:
    def change(flow: Json) -> None:
        part: Any = flow
        for step in path[:-1]:
            part = part[step]
        del part[path[-1]]

    return change


ROUTER, FIRST_CASE = ("nodes", 0, "router"), ("nodes", 0, "router", "cases", 0)
LIMITS: dict[str, tuple[Change, Change]] = {
    "name of the flow": (put("name", "n" * 64), put("name", "n" * 65)),
    "nodes": (add_nodes(1000), add_nodes(1001)),
    "actions": (set_actions(100), set_actions(101)),
    "exits": (add_exits(100), add_exits(101)),
    "categories": (add_categories(100), add_categories(101)),
    "cases": (set_cases(100), set_cases(101)),
    "arguments": (put(*FIRST_CASE, "arguments", ["x"] * 10), put(*FIRST_CASE, "arguments", ["x"] * 11)),
    "name of a result": (put(*ROUTER, "result_name", "r" * 64), put(*ROUTER, "result_name", "r" * 65)),
    "name of a category": (
        put(*ROUTER, "categories", 0, "name", "c" * 64),
        put(*ROUTER, "categories", 0, "name", "c" * 65),
    ),
    "properties of a translation": (
        put("localization", {"spa": {SEND: {f"p{number}": ["x"] for number in range(10)}}}),
        put("localization", {"spa": {SEND: {f"p{number}": ["x"] for number in range(11)}}}),
    ),
    "name of a translated property": (
        put("localization", {"spa": {SEND: {"p" * 20: ["x"]}}}),
        put("localization", {"spa": {SEND: {"p" * 21: ["x"]}}}),
    ),
    "values of a translation": (
        put("localization", {"spa": {SEND: {"text": ["x"] * 10}}}),
        put("localization", {"spa": {SEND: {"text": ["x"] * 11}}}),
    ),
    "length of a translation": (
        put("localization", {"spa": {SEND: {"text": ["x" * 10_000]}}}),
        put("localization", {"spa": {SEND: {"text": ["x" * 10_001]}}}),
    ),
    "attachments": (
        put("nodes", 0, "actions", 0, "attachments", ["image:x"] * 10),
        put("nodes", 0, "actions", 0, "attachments", ["image:x"] * 11),
    ),
    "an attachment": (
        put("nodes", 0, "actions", 0, "attachments", ["a" * 2048]),
        put("nodes", 0, "actions", 0, "attachments", ["a" * 2049]),
    ),
    "quick replies": (
        put("nodes", 0, "actions", 0, "quick_replies", ["Yes"] * 10),
        put("nodes", 0, "actions", 0, "quick_replies", ["Yes"] * 11),
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_definition_is_read_up_to_a_limit_and_refused_beyond(name: str) -> None:
    within, beyond = LIMITS[name]

    assert change_and_load(within).nodes
    with pytest.raises(DefinitionError):
        change_and_load(beyond)


FAULTS: dict[str, Change] = {
    "no uuid": take("uuid"),
    "no name": take("name"),
    "an empty name": put("name", ""),
    "no version": take("spec_version"),
    "no language": take("language"),
    "a language of two letters": put("language", "en"),
    "no type": take("type"),
    "a revision in words": put("revision", "three"),
    "nothing for an action": put("nodes", 0, "actions", [None]),
    "nothing for an exit": put("nodes", 0, "exits", [None]),
    "a node without uuid": take("nodes", 0, "uuid"),
    "an action without uuid": take("nodes", 0, "actions", 0, "uuid"),
    "an exit without uuid": take("nodes", 0, "exits", 0, "uuid"),
    "two nodes of one uuid": lambda flow: flow["nodes"].append(make_node(out=make_uuid(99))),
    "two exits of one uuid": lambda flow: flow["nodes"].append(make_node(uuid=CALL)),
    "two actions of one uuid": put("nodes", 0, "actions", [SAY, SAY]),
    "a category without name": put(*ROUTER, "categories", 0, "name", ""),
    "a strange default category": put(*ROUTER, "default_category_uuid", make_uuid(98)),
    "a timeout with a strange category": put(*ROUTER, "wait", "timeout", "category_uuid", make_uuid(98)),
    "an unknown router": put(*ROUTER, "type", "guess"),
    "an unknown wait": put(*ROUTER, "wait", "type", "dream"),
    "an unknown test": put(*FIRST_CASE, "type", "has_luck"),
    "a function that is no test": put(*FIRST_CASE, "type", "upper"),
    "a wait in a background flow": put("type", "messaging_background"),
    "a router without operand": take(*ROUTER, "operand"),
    "a router with an empty operand": put(*ROUTER, "operand", ""),
    "translations into no language": put("localization", {"spanish": {}}),
    "translations of no item": put("localization", {"spa": {"greeting": {"text": ["Hola"]}}}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_definition_with_a_fault_is_refused(fault: str) -> None:
    with pytest.raises(DefinitionError):
        change_and_load(FAULTS[fault])


@pytest.mark.parametrize(
    "change",
    [
        put("nodes", []),
        take("nodes", 0, "router"),
        take("revision"),
        take("expire_after_minutes"),
        take("localization"),
        put("language", "und"),
        put("nodes", 0, "exits", 0, "destination_uuid", ASK),
        take("nodes", 0, "exits", 0, "destination_uuid"),
        take(*ROUTER, "default_category_uuid"),
        take(*ROUTER, "wait"),
        put("parent_refs", ["kept"]),
        put(*FIRST_CASE, "type", "has_group"),
    ],
)
def test_what_may_be_left_out_or_added_is_no_fault(change: Change) -> None:
    assert change_and_load(change).raw["uuid"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Favorite Color", "favorite_color"),
        ("  two   spaces ", "two_spaces"),
        ("What's that?!", "what_s_that_"),
        ("a--b__c", "a_b__c"),
        ("Größe 2", "größe_2"),
        ("年齢", "年齢"),
        ("🙂 Mood", "_mood"),
    ],
)
def test_the_key_of_a_result_is_its_name_in_small_letters_and_underscores(name: str, key: str) -> None:
    assert snakify(name) == key
    saved = {"type": "set_run_result", "uuid": SEND, "name": name, "value": "1"}
    (result,) = inspect(load(make_flow(make_node(saved), version="14.4.2"))).results
    assert (result.key, result.name) == (key, name)


@pytest.mark.parametrize(
    ("template", "kind", "key"),
    [
        ("@fields.town", "field", "town"),
        ("@contact.fields.town", "field", "town"),
        ("@parent.fields.town", "field", "town"),
        ("@parent.contact.fields.town", "field", "town"),
        ("@child.fields.town", "field", "town"),
        ("@child.contact.fields.town", "field", "town"),
        ("@(upper(FIELDS.Town))", "field", "town"),
        ('@(foreach(array(1), (x) => x & fields["town"]))', "field", "town"),
        ("@globals.org_name", "global", "org_name"),
        ("@(if(globals.org_name, 1, 2))", "global", "org_name"),
    ],
)
def test_templates_depend_on_fields_and_globals(template: str, kind: str, key: str) -> None:
    say = {**SAY, "text": f"Hi {template}!"}
    (found,) = inspect(load(make_flow(make_node(say), version="14.4.2"))).dependencies
    assert (found.reference.kind, found.reference.identity) == (kind, key)


@pytest.mark.parametrize(
    "template",
    ["@run.contact.fields.town", "@results.fields.town", "@(globals)", "@fields", "@@fields.town", "fields.town"],
)
def test_other_look_ups_are_no_dependencies(template: str) -> None:
    say = {**SAY, "text": template}
    assert inspect(load(make_flow(make_node(say), version="14.4.2"))).dependencies == ()


@pytest.mark.parametrize(
    ("languages", "translations", "expected"),
    [
        (["spa"], {"spa": ["Hola"]}, (["Hola"], "spa")),
        (["spa", "fra"], {"fra": ["Salut"]}, (["Salut"], "fra")),
        (["spa", "fra"], {"spa": [""], "fra": ["Salut"]}, (["Salut"], "fra")),
        (["spa"], {"spa": []}, (["Hello"], "eng")),
        (["spa"], {"spa": [""]}, (["Hello"], "eng")),
        (["spa"], {"spa": ["", ""]}, (["", ""], "spa")),
        (["eng", "spa"], {"spa": ["Hola"]}, (["Hello"], "eng")),
        ([], {"spa": ["Hola"]}, (["Hello"], "eng")),
        (["eng"], {"eng": ["Never"]}, (["Hello"], "eng")),
    ],
)
def test_languages_are_tried_in_order_up_to_the_flows_own(
    languages: list[str], translations: dict[str, list[str]], expected: tuple[list[str], str]
) -> None:
    localization = {language: {SEND: {"text": texts}} for language, texts in translations.items()}
    flow = load(make_flow(make_node(SAY), version="14.4.2", localization=localization))
    assert localize(flow, languages, SEND, "text", ["Hello"]) == expected


@pytest.mark.parametrize("version", ["13.0.0", "13.1.0", "13.6.1", "14.0.0", "14.2.0", "14.4.2"])
def test_every_version_since_13_is_read_and_brought_up(version: str) -> None:
    assert load(make_specimen(version)).spec_version == "14.4.2"
    assert migrate(make_specimen(version), to=version)["spec_version"] == version


@pytest.mark.parametrize("version", ["14.5.0", "15.0.0", "99.1", "", "x", "13", None])
def test_later_versions_and_none_are_refused(version: Any) -> None:
    with pytest.raises(DefinitionError):
        load({**make_specimen(), "spec_version": version})
