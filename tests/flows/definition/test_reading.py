"""Reading flow definitions: what is refused, and where the error says the fault is."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.definition import DefinitionError, load, localize
from tests.flows.definition.specimens import EARLY_FLOW, LEGACY_FLOW
from tests.thinned import EVERY_CASE

FLOW, NODE, OTHER = (f"{n}1111111-1111-4111-8111-111111111111" for n in "123")
ACTION, EXIT, CATEGORY, CASE = (f"{n}2222222-2222-4222-8222-222222222222" for n in "4567")

DEFINITION: dict[str, Any] = {
    "uuid": FLOW,
    "name": "Registration",
    "spec_version": "13.1.0",
    "language": "eng",
    "type": "messaging",
    "revision": 3,
    "expire_after_minutes": 60,
    "localization": {"swa": {ACTION: {"text": ["Karibu"]}}},
    "nodes": [
        {
            "uuid": NODE,
            "actions": [{"type": "send_msg", "uuid": ACTION, "text": "Welcome"}],
            "router": {
                "type": "switch",
                "operand": "@input.text",
                "wait": {"type": "msg", "timeout": {"seconds": 60, "category_uuid": CATEGORY}},
                "categories": [{"uuid": CATEGORY, "name": "All", "exit_uuid": EXIT}],
                "cases": [{"uuid": CASE, "type": "has_text", "arguments": [], "category_uuid": CATEGORY}],
                "default_category_uuid": CATEGORY,
            },
            "exits": [{"uuid": EXIT, "destination_uuid": None}],
        }
    ],
    "_ui": {"kept": True},
}


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    definition = copy.deepcopy(DEFINITION)
    part: Any = definition
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return definition


def test_a_definition_is_read_and_kept_as_it_came() -> None:
    flow = load(DEFINITION)

    assert (flow.uuid, flow.name, flow.expire_after_minutes) == (FLOW, "Registration", 60)
    assert flow.nodes[0].router is not None
    assert flow.raw["_ui"] == {"kept": True}
    assert flow.destination_of(EXIT) is None


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (["uuid"], "x", "uuid"),
        (["_ui"], {"stickies": ["x" * 262_144]}, "_ui"),
        (["_ui"], {str(number): [number] for number in range(30_000)}, "_ui"),
        (["name"], "x" * 65, "name"),
        (["type"], "smoke", "type"),
        (["spec_version"], "15.0.0", "spec_version"),
        (["spec_version"], "12.0.0", "spec_version"),
        (["nodes"], [None], "nodes[0]"),
        (["nodes", 0, "exits"], [], "exits"),
        (["nodes", 0, "exits", 0, "destination_uuid"], OTHER, "exits[0].destination_uuid"),
        (["nodes", 0, "actions", 0, "type"], "smoke", "actions[0].type"),
        (["nodes", 0, "actions", 0, "type"], "say_msg", "actions[0].type"),
        (["nodes", 0, "actions", 0, "uuid"], NODE, "actions[0].uuid"),
        (["nodes", 0, "router", "categories", 0, "exit_uuid"], OTHER, "router.categories[0].exit_uuid"),
        (["nodes", 0, "router", "cases", 0, "category_uuid"], OTHER, "router.cases[0].category_uuid"),
        (["nodes", 0, "router", "wait", "type"], "dial", "router.wait.type"),
        (["nodes", 0, "router", "result_name"], 7, "router.result_name"),
        (["nodes", 0, "router", "categories"], [], "router.categories"),
        (["nodes", 0, "router", "cases", 0, "uuid"], "x", "router.cases[0].uuid"),
        (["nodes", 0, "router", "cases", 0, "arguments"], ["x"] * 11, "router.cases[0].arguments"),
        (["nodes", 0, "router", "wait", "timeout", "seconds"], "60", "router.wait.timeout.seconds"),
        (["nodes", 0, "router", "wait", "timeout", "seconds"], 0, "router.wait.timeout.seconds"),
        (["nodes", 0, "router", "wait", "hint"], {"type": "smoke"}, "router.wait.hint.type"),
        (["nodes", 0, "router", "wait", "hint"], "digits", "router.wait.hint.type"),
        (
            ["nodes", 0, "router", "wait", "hint"],
            {"type": "digits", "terminated_by": "#" * 9},
            "router.wait.hint.terminated_by",
        ),
        (["nodes", 0, "exits", 0, "destination_uuid"], "x", "exits[0].destination_uuid"),
    ],
)
def test_a_fault_is_refused_and_its_place_named(path: list[Any], value: Any, field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        load(changed(path, value))

    assert caught.value.field == field
    assert path[0] != "nodes" or len(path) < 3 or caught.value.node == NODE


def test_categories_need_names_once_migrations_no_longer_give_them() -> None:
    nameless = changed(["nodes", 0, "router", "categories", 0, "name"], "")

    assert load({**nameless, "spec_version": "13.6.1"}).nodes[0].router is not None
    with pytest.raises(DefinitionError, match="name"):
        load({**nameless, "spec_version": "14.0.0"})


def test_what_is_no_translation_counts_for_nothing() -> None:
    assert localize(load(changed(["localization"], {"swa": 7})), ["swa"], ACTION, "text", ["Hi"]) == (["Hi"], "eng")


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("value", [[], {}, [1], {"a": 1}])
@pytest.mark.parametrize(
    "path",
    [
        ["type"],
        ["nodes", 0, "actions", 0, "type"],
        ["nodes", 0, "router", "type"],
        ["nodes", 0, "router", "categories", 0, "exit_uuid"],
        ["nodes", 0, "router", "cases", 0, "category_uuid"],
        ["nodes", 0, "router", "wait", "timeout", "category_uuid"],
    ],
)
def test_a_list_or_object_in_the_place_of_a_text_is_refused(path: list[Any], value: Any) -> None:
    with pytest.raises(DefinitionError):
        load(changed(path, value))


PLACES = [[], ["nodes"], ["nodes", 0], ["nodes", 0, "router"], ["nodes", 0, "router", "wait"], ["nodes", 0, "exits", 0]]
KEYS = ["uuid", "name", "type", "nodes", "actions", "exits", "router", "wait", "cases", "timeout", "localization"]


@given(place=st.sampled_from(PLACES), key=st.sampled_from(KEYS), value=VALUES)
def test_no_definition_raises_anything_else(place: list[Any], key: str, value: Any) -> None:
    definition = changed([*place, key], value) if place != ["nodes"] else changed(["nodes"], [value])

    with contextlib.suppress(DefinitionError):
        load(definition)


def places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all parts of a definition without the editor's data."""
    listed = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, inner in listed:
        if key != "_ui":
            yield (*path, key)
            yield from places(inner, (*path, key))


WRONG = (None, 7, "no", "long" * 5000, [7], {"a": 1}, True)
"""Each place gets two of them in turn, and with RELAYBOARD_EVERY_CASE=1 all."""


@pytest.mark.parametrize("definition", [EARLY_FLOW, LEGACY_FLOW], ids=["13.0", "legacy"])
def test_every_refusal_names_the_place_what_stands_there_and_what_is_needed(definition: dict[str, Any]) -> None:
    silent = set()
    for turn, path in enumerate(places(definition)):
        for value in WRONG if EVERY_CASE else (WRONG[turn % 7], WRONG[(turn + 3) % 7]):
            changed = copy.deepcopy(definition)
            part: Any = changed
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = value
            try:
                load(changed)
            except DefinitionError as error:
                words = (
                    '"',
                    "nothing",
                    "an object",
                    "a list",
                    "true",
                    "7",
                    "at least",
                    "at most",
                    "need",
                    "required",
                )
                if not error.field or not any(each in error.message for each in words):
                    silent.add((path, str(error)))

    assert silent == set()
