"""Whatever is wrong anywhere in an action or a router is told with its place and the rule."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from flows.definition import DefinitionError, load
from flows.definition.action_types import VOICE_ONLY, action_types
from tests.flows.definition.specimens import ASK, CASE, EARLY_FLOW, GROUP, SEND, YES, make_case, make_flow, make_node
from tests.flows.definition.specimens import make_router as router_of
from tests.flows.definition.test_action_checks import GOOD
from tests.flows.definition.test_any_definition import list_paths, put

WRONG: tuple[Any, ...] = (None, 7, 1.5, True, "", "x", "x" * 20_000, [], [7], ["x"], [[1]], {}, {"x": {"y": 1}}, "\x00")
ABSENT = object()
RULES = re.compile(
    "is required|is needed|needs|at most|is none of|there are|is not a|names no|neither true nor false|the rule is|"
    "is not between|is out of the range|is used twice|is an object, not|are texts, not|is not allowed in|is not one of"
)
"""How a sentence says the rule."""
EVERY = {
    **GOOD,
    "call_classifier": {"classifier": {"uuid": GROUP, "name": "Wit"}, "input": "@input", "result_name": "Intent"},
    "play_audio": {"audio_url": "http://example.com/a.mp3"},
    "say_msg": {"text": "Hello", "audio_url": "http://example.com/a.mp3"},
    "request_optin": {"optin": {"uuid": GROUP, "name": "News"}},
}
ROUTER = router_of(
    "@input.text",
    make_case("has_any_word", "yes"),
    wait={
        "type": "msg",
        "timeout": {"seconds": 60, "category_uuid": YES},
        "hint": {"type": "digits", "terminated_by": "#", "count": 3},
    },
    result_name="Answer",
)
DIALING = router_of(
    '@(default(resume.dial.status, ""))',
    make_case("has_only_text", "answered"),
    wait={"type": "dial", "phone": "@fields.phone", "dial_limit_seconds": 60, "call_limit_seconds": 120},
)
RANDOM = {name: part for name, part in router_of("").items() if name in ("categories",)} | {"type": "random"}


def written(path: tuple[Any, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def without(part: Any, path: tuple[Any, ...]) -> Any:
    copied = put(part, path, None)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return copied


def faults(part: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Every place of a part with every wrong value, and without its value."""
    for path in list_paths(part):
        for value in WRONG:
            yield path, value, put(part, path, value)
        yield path, ABSENT, without(part, path)


def refusal(definition: Any) -> DefinitionError | None:
    try:
        load(definition)
    except DefinitionError as error:
        return error
    return None


def check(error: DefinitionError, place: str, value: Any) -> None:
    """The place leads to the part that was changed, to what is in it, or to what it is in."""
    assert error.field, error
    short = re.match(r"[^.\[]*(?:\[\d+\])?", place)
    assert short is not None and error.field.startswith(short.group()), (place, value, str(error))
    assert error.field.startswith(place) or place.startswith(error.field) or " " in error.message, (place, str(error))
    assert RULES.search(error.message), (place, value, str(error))
    assert len(error.message) < 400, (place, str(error))


@pytest.mark.parametrize("kind", action_types())
def test_every_refusal_of_an_action_names_node_action_property_and_rule(kind: str) -> None:
    flow_type = "voice" if action_types()[kind].allowed_in == VOICE_ONLY else "messaging"
    good = {"type": kind, "uuid": SEND, **EVERY[kind]}
    assert refusal(make_flow(make_node(good), version="14.4.2", type=flow_type)) is None
    refused = 0
    for path, value, changed in faults(EVERY[kind]):
        error = refusal(make_flow(make_node({"type": kind, "uuid": SEND, **changed}), version="14.4.2", type=flow_type))
        if error is not None:
            refused += 1
            assert (error.node, error.action) == (ASK, SEND), (path, value, str(error))
            check(error, f"actions[0].{written(path)}", value)
    assert refused >= len(action_types()[kind].fields)


@pytest.mark.parametrize("routed", [ROUTER, DIALING, RANDOM], ids=["switch", "dial", "random"])
def test_every_refusal_of_a_router_names_node_property_and_rule(routed: dict[str, Any]) -> None:
    flow_type = "voice" if routed is DIALING else "messaging"
    assert refusal(make_flow(make_node(router=routed), version="14.4.2", type=flow_type)) is None
    refused = 0
    for path, value, changed in faults(routed):
        error = refusal(make_flow(make_node(router=changed), version="14.4.2", type=flow_type))
        if error is not None:
            refused += 1
            assert error.node == ASK, (path, value, str(error))
            check(error, f"router.{written(path)}", value)
    assert refused > 50


def test_every_refusal_of_a_flow_names_its_property_and_rule() -> None:
    flow = make_flow(make_node(router=ROUTER), version="14.4.2", localization={"spa": {CASE: {"arguments": ["sí"]}}})
    for path, value, changed in faults(flow):
        if path[:3] == ("nodes", 0, "router") or path[0] == "spec_version":
            continue
        error = refusal(changed)
        if error is not None:
            assert error.field and RULES.search(error.message), (path, value, str(error))
            top = str(path[2]) if path[0] == "nodes" and len(path) > 2 else str(path[0])
            assert error.field.startswith((top, "nodes", "router", "exits")), (path, value, str(error))


def test_a_property_that_no_version_knows_is_left_where_it_is() -> None:
    """Other editors of the format keep notes of their own in definitions."""
    node = make_node({"type": "send_msg", "uuid": SEND, "text": "Hi", "colour": "red"})
    flow = load(make_flow({**node, "mood": 7}, version="14.4.2"))

    assert (flow.raw["nodes"][0]["mood"], flow.raw["nodes"][0]["actions"][0]["colour"]) == (7, "red")
    assert EARLY_FLOW["nodes"]
