"""The checks of each action's own properties, and of translations and tests."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flows.definition import DefinitionError, load
from tests.flows.definition.specimens import ASK, CASE, GROUP, SEND, Json, make_flow, make_node

REFERENCE = {"uuid": GROUP, "name": "Members"}
CALL: Json = {"type": "call_webhook", "method": "POST", "url": "http://example.com"}
# One action of each type that can be used, and values of its properties that cannot.
GOOD: dict[str, Json] = {
    "add_contact_groups": {"groups": [REFERENCE, {"name_match": "@fields.town"}]},
    "add_contact_urn": {"scheme": "tel", "path": "@input"},
    "add_input_labels": {"labels": [REFERENCE]},
    "call_llm": {"llm": REFERENCE, "instructions": "Translate", "input": "@input", "output_local": "_out"},
    "call_resthook": {"resthook": "new-registration", "result_name": "Call"},
    "call_webhook": {"method": "POST", "url": "http://example.com", "headers": {"X-Key": "@fields.key"}, "body": "x"},
    "enter_flow": {"flow": REFERENCE, "terminal": True},
    "open_ticket": {"topic": None, "note": "Help", "assignee": {"email": "@fields.agent"}},
    "remove_contact_groups": {"groups": [], "all_groups": True},
    "send_broadcast": {"text": "Hi", "groups": [REFERENCE], "urns": ["tel:+12065551212"], "legacy_vars": ["@x"]},
    "send_email": {"addresses": ["a@b.cd"], "subject": "Hi", "body": "There"},
    "send_msg": {"text": "Hi", "attachments": ["image:@input"], "quick_replies": ["Yes"], "template": REFERENCE},
    "set_contact_channel": {"channel": None},
    "set_contact_field": {"field": {"key": "age", "name": "Age"}, "value": "@input"},
    "set_contact_language": {"language": "eng"},
    "set_contact_name": {"name": ""},
    "set_contact_status": {"status": "archived"},
    "set_contact_timezone": {"timezone": "@input"},
    "set_run_local": {"local": "_n", "operation": "increment", "value": "1"},
    "set_run_result": {"name": "Age", "value": "@input", "category": "Known"},
    "start_session": {"flow": REFERENCE, "contacts": [REFERENCE], "create_contact": False},
    "transfer_airtime": {"amounts": {"USD": 0.5, "RWF": 500}},
}
FAULTS: list[tuple[str, str, Any, str]] = [
    ("add_contact_groups", "groups", None, "groups"),
    ("add_contact_groups", "groups", [{"uuid": "x", "name": "Members"}], "groups[0].uuid"),
    ("add_contact_groups", "groups", [REFERENCE, {"uuid": GROUP, "name": "x" * 65}], "groups[1].name"),
    ("add_contact_groups", "groups", [REFERENCE] * 101, "groups"),
    ("add_contact_groups", "groups", ["Members"], "groups[0]"),
    ("add_contact_urn", "scheme", "pigeon", "scheme"),
    ("add_contact_urn", "path", "", "path"),
    ("add_input_labels", "labels", {"uuid": GROUP}, "labels"),
    ("call_llm", "llm", None, "llm"),
    ("call_llm", "instructions", "x" * 10_001, "instructions"),
    ("call_llm", "output_local", "has spaces", "output_local"),
    ("call_resthook", "resthook", "", "resthook"),
    ("call_webhook", "method", "BREW", "method"),
    ("call_webhook", "method", "", "method"),
    ("call_webhook", "url", "", "url"),
    ("call_webhook", "url", "x" * 8193, "url"),
    ("call_webhook", "headers", {'"$?': "x"}, 'headers."$?'),
    ("call_webhook", "headers", {f"H{number}": "x" for number in range(11)}, "headers"),
    ("call_webhook", "headers", {"H": "x" * 5001}, "headers.H"),
    ("call_webhook", "headers", {"H\nHost": "x"}, "headers.H\nHost"),
    ("call_webhook", "body", "x" * 20_001, "body"),
    ("call_webhook", "result_name", "x" * 65, "result_name"),
    ("enter_flow", "flow", {"name": "Other"}, "flow.uuid"),
    ("open_ticket", "assignee", {"uuid": "x"}, "assignee.uuid"),
    ("send_broadcast", "contacts", [{"name": "Ann"}], "contacts[0].uuid"),
    ("send_email", "addresses", None, "addresses"),
    ("send_email", "subject", "", "subject"),
    ("send_msg", "text", 7, "text"),
    ("send_msg", "text", "x" * 10_001, "text"),
    ("send_msg", "attachments", ["image:x"] * 11, "attachments"),
    ("send_msg", "attachments", ["x" * 2049], "attachments[0]"),
    ("send_msg", "quick_replies", ["Yes"] * 11, "quick_replies"),
    ("send_msg", "quick_replies", ["x" * 1001], "quick_replies[0]"),
    ("send_msg", "template", {"name": "welcome"}, "template.uuid"),
    ("set_contact_channel", "channel", {"uuid": "x"}, "channel.uuid"),
    ("set_contact_field", "field", {"name": "Age"}, "field.key"),
    ("set_contact_status", "status", "drunk", "status"),
    ("set_run_local", "local", "", "local"),
    ("set_run_local", "operation", "", "operation"),
    ("set_run_result", "name", "", "name"),
    ("set_run_result", "name", "x" * 65, "name"),
    ("set_run_result", "category", "x" * 65, "category"),
    ("start_session", "create_contact", "yes", "create_contact"),
    ("transfer_airtime", "amounts", {}, "amounts"),
    ("transfer_airtime", "amounts", {"USD": float("inf")}, "amounts.USD"),
    ("transfer_airtime", "amounts", {"USD": "5"}, "amounts.USD"),
    ("transfer_airtime", "amounts", {"USD": -0.5}, "amounts.USD"),
    ("transfer_airtime", "amounts", {"USD": 1, "RWF": 1_000_000_000_000_001}, "amounts.RWF"),
    ("transfer_airtime", "amounts", {"USD": Decimal("1E99")}, "amounts.USD"),
    ("transfer_airtime", "amounts", {"USD": 10**200}, "amounts.USD"),
    ("transfer_airtime", "amounts", {"RWANDANFR": 5}, "amounts.RWANDANFR"),
]


def load_action(action: Json, version: str = "14.4.2", **more: Any) -> None:
    load(make_flow(make_node({"uuid": SEND, **action}), version=version, **more))


@pytest.mark.parametrize("kind", GOOD)
def test_an_action_with_all_it_needs_is_read(kind: str) -> None:
    load_action({"type": kind, **GOOD[kind]})


@pytest.mark.parametrize(("kind", "name", "value", "field"), FAULTS)
def test_a_fault_of_an_action_is_refused_and_its_place_named(kind: str, name: str, value: Any, field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        load_action({"type": kind, **GOOD[kind], name: value})

    assert (caught.value.node, caught.value.action, caught.value.field) == (ASK, SEND, f"actions[0].{field}")
    assert f"action {SEND}" in str(caught.value)


@pytest.mark.parametrize("amount", [0, 0.01, 10**15])
def test_airtime_may_be_nothing_and_up_to_the_largest_amount(amount: float) -> None:
    load_action({"type": "transfer_airtime", "amounts": {"USD": amount}})


def test_removal_from_all_groups_names_none_beside_them() -> None:
    groups = [{"uuid": ASK, "name": "Testers"}]
    with pytest.raises(DefinitionError) as caught:
        load_action({"type": "remove_contact_groups", "groups": groups, "all_groups": True})

    assert caught.value.field == "actions[0].groups"
    load_action({"type": "remove_contact_groups", "groups": groups, "all_groups": False})
    load_action({"type": "remove_contact_groups", "groups": [], "all_groups": True})


@pytest.mark.parametrize("kind", ["send_msg", "send_broadcast"])
def test_a_message_needs_something_in_it(kind: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        load_action({"type": kind, "text": ""})

    assert caught.value.field == "actions[0].text"
    load_action({"type": kind, "text": "", "attachments": ["image:@input"]})


def test_what_is_spoken_may_be_a_text_or_a_sound() -> None:
    load_action({"type": "say_msg", "audio_url": "http://example.com/1.mp3"}, type="voice")
    with pytest.raises(DefinitionError):
        load_action({"type": "say_msg", "text": ""}, type="voice")
    with pytest.raises(DefinitionError):
        load_action({"type": "play_audio", "audio_url": ""}, type="voice")


def test_names_of_results_are_cut_in_old_flows_and_refused_in_new_ones() -> None:
    action = {"type": "set_run_result", "name": "x" * 100, "value": "1", "category": "y" * 50}

    load_action(action, version="13.0.0")
    with pytest.raises(DefinitionError):
        load_action(action)


@pytest.mark.parametrize("language", [None, "", "en", "english", 7])
def test_a_flow_has_a_language_since_13_2_and_an_undetermined_one_before(language: Any) -> None:
    with pytest.raises(DefinitionError) as caught:
        load(make_flow(version="13.2.0", language=language))

    assert caught.value.field == "language"
    assert load(make_flow(version="13.1.0", language=language)).language == "und"


@pytest.mark.parametrize(
    ("localization", "field"),
    [
        ({"vvv": {}}, "localization.vvv"),
        ({"spa": {"heh?": {}}}, "localization.spa.heh?"),
        ({"spa": {SEND: {"x" * 21: ["a"]}}}, f"localization.spa.{SEND}.{'x' * 21}"),
        ({"spa": {SEND: {f"p{number}": ["a"] for number in range(11)}}}, f"localization.spa.{SEND}"),
        ({"spa": {SEND: {"text": ["a"] * 11}}}, f"localization.spa.{SEND}.text"),
        ({"spa": {SEND: {"text": ["a" * 10_001]}}}, f"localization.spa.{SEND}.text[0]"),
    ],
)
def test_translations_that_cannot_be_used_are_refused(localization: Json, field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        load(make_flow(version="14.4.2", localization=localization))

    assert caught.value.field == field


def test_translations_of_old_flows_are_cut_so_that_they_can_be_read_again() -> None:
    long = {"arguments": ["a" * 10_001, *["b"] * 10], **{f"p{number}": ["d"] for number in range(10)}}

    flow = load(make_flow(version="13.0.0", localization={"spa": {CASE: long}}))

    (properties,) = flow.localization["spa"].values()
    assert properties["arguments"] == ["a" * 10_000, *["b"] * 9]
    assert len(properties) == 10
    assert load(flow.raw).localization == flow.localization


@pytest.mark.parametrize("version", ["13.0.0", "13.6.1", "14.0.0", "14.4.2"])
def test_names_of_localized_properties_have_a_maximum_in_every_version(version: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        load(make_flow(version=version, localization={"spa": {CASE: {"x" * 21: ["a"]}}}))

    assert caught.value.field == f"localization.spa.{CASE}.{'x' * 21}"
    load(make_flow(version=version, localization={"spa": {CASE: {"x" * 20: ["a"]}}}))


def test_translations_of_old_flows_in_no_language_are_dropped() -> None:
    flow = load(make_flow(version="13.0.0", localization={"spa": {}, "vvv": {}, "fre": {}, "base": {}}))

    assert set(flow.localization) == {"spa", "fre"}
    load(flow.raw)
