"""Nodes, routers and waits, rule by rule (flow format, sections 3.1 to 3.5)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flows import Options
from flows.engine import ResumeError
from tests.flows.engine.playing import Played, ask, flow, node, play, switch
from tests.flows.hypothesis.workspace import CHILD, FLOW, make_uuid, refer

EARLY: dict[str, Any] = {"options": Options(generation=13), "spec_version": "13.2.0"}
ENTER = {"type": "enter_flow", "flow": refer(CHILD), "terminal": False}
MESSAGE = {"text": "yes", "urn": "tel:+12065551212"}
BY_MESSAGE = {
    "type": "msg",
    "event": {"uuid": make_uuid(7), "type": "msg_received", "created_on": "2025-05-04T12:30:00Z", "msg": MESSAGE},
}


def say(text: str) -> dict[str, Any]:
    return {"type": "send_msg", "text": text}


def texts(played: Played) -> list[str]:
    return [event["msg"]["text"] for event in played.of("msg_created")]


def path(played: Played, run: int = 0) -> list[str]:
    return [step.node_uuid for step in played.session.runs[run].path]


def route(operand: str, *cases: tuple[str, list[str], str], **more: Any) -> Played:
    return play(node(0, router=switch(0, operand, *cases)), **more)


def result_of(played: Played) -> Any:
    return played.session.runs[0].results["answer"]


# A node


def test_a_visit_appends_a_step_and_runs_actions_in_their_order() -> None:
    played = play(node(0, say("one"), say("two"), to=1), node(1, say("three")))
    assert path(played) == [make_uuid(1, 0), make_uuid(1, 1)]
    assert texts(played) == ["one", "two", "three"]


def test_a_node_without_router_leaves_by_its_first_exit() -> None:
    first = node(0, say("a"), to=1)
    first["exits"].append({"uuid": make_uuid(6), "destination_uuid": make_uuid(1, 2)})
    assert texts(play(first, node(1, say("first")), node(2, say("second")))) == ["a", "first"]


def test_an_exit_without_destination_ends_the_run() -> None:
    played = play(node(0), node(1, say("never")))
    assert (played.session.runs[0].status, texts(played)) == ("completed", [])


def test_an_empty_flow_is_completed_at_once() -> None:
    played = play()
    assert (played.session.status, path(played)) == ("completed", [])


def test_the_first_node_is_the_entry_wherever_others_lead() -> None:
    assert texts(play(node(5, say("entry")), node(1, say("other"), to=5)))[0] == "entry"


# A switch


@pytest.mark.parametrize(
    ("operand", "case", "value"),
    [
        ("@(fields.age)", ("has_number_eq", ["@(20 + 7)"], "Yes"), "27"),
        ("@contact.groups", ("has_group", [make_uuid(93), "Thing"], "Yes"), None),
        ('@(array("a", "b"))', ("has_text", [], "Yes"), "[a, b]"),
        ("@(1 / 0)", ("has_error", [], "Yes"), "division by zero"),
        ("x@(1 / 0)y", ("has_only_text", ["xy"], "Yes"), "xy"),
    ],
)
def test_operands_and_arguments_are_typed_values(operand: str, case: Any, value: str | None) -> None:
    result = result_of(route(operand, case))
    assert result.category == "Yes"
    assert value is None or result.value == value


@pytest.mark.parametrize("kind", ["has_number", "has_text", "has_any_word"])
def test_other_tests_of_an_operand_in_error_are_errors_and_the_next_is_tried(kind: str) -> None:
    arguments = ["x"] if kind == "has_any_word" else []
    played = route("@(1 / 0)", (kind, arguments, "No"), ("has_error", [], "Wrong"))
    assert result_of(played).category == "Wrong"
    assert played.errors


def test_match_and_extra_are_those_of_the_test() -> None:
    result = result_of(route("call 555-1212", ("has_pattern", [r"(\d+)-(\d+)"], "Number")))
    assert (result.value, result.extra) == ("555-1212", {"0": "555-1212", "1": "555", "2": "1212"})


def test_the_default_has_the_operand_as_text_and_no_extra() -> None:
    result = result_of(route('@(object("a", 1))', ("has_number_eq", ["5"], "Five")))
    assert (result.value, result.category, result.extra) == ("{a: 1}", "Other", None)


def test_an_operand_in_error_is_logged_and_the_default_gets_an_empty_match() -> None:
    played = route("@(1 / 0)")
    assert (result_of(played).value, played.errors) == ("", ["Error evaluating expression: division by zero"])


def test_a_switch_without_default_fails_run_and_session() -> None:
    played = route("x", ("has_number", [], "Number"))
    assert played.session.status == "completed"
    router = switch(0, "x", ("has_number", [], "Number"))
    del router["default_category_uuid"]
    played = play(node(0, router=router))
    assert [played.session.status, played.session.runs[0].status, len(played.of("failure"))] == ["failed", "failed", 1]
    assert "answer" not in played.session.runs[0].results


def test_a_result_is_saved_only_if_it_has_a_name() -> None:
    router = switch(0, "x")
    del router["result_name"]
    assert play(node(0, router=router)).session.runs[0].results == {}


def test_the_value_of_a_result_is_cut_and_its_input_is_the_operand() -> None:
    played = route('@(repeat("x", 700))', ("has_text", [], "Some"))
    result = result_of(played)
    assert (len(result.value), len(result.input), result.node_uuid) == (640, 700, make_uuid(1, 0))
    assert played.of("run_result_changed")[0]["value"] == "x" * 640


def test_the_way_out_is_that_of_the_category() -> None:
    router = switch(0, "b", ("has_only_text", ["a"], "A"), ("has_only_text", ["b"], "B"))
    router["categories"][1]["exit_uuid"] = make_uuid(6)
    first = node(0, router=router, to=1)
    first["exits"].append({"uuid": make_uuid(6), "destination_uuid": make_uuid(1, 2)})
    played = play(first, node(1, say("other")), node(2, say("b")))
    assert texts(played) == ["b"]
    assert played.session.runs[0].path[0].exit_uuid == make_uuid(6)


def test_the_operand_is_told_with_the_segment() -> None:
    played = play(node(0, router=switch(0, "@(1 + 1)"), to=1), node(1))
    (segment,) = played.session.segments
    del segment["time"]
    assert segment == {
        "flow_uuid": FLOW,
        "node_uuid": make_uuid(1, 0),
        "exit_uuid": make_uuid(5, 0),
        "operand": "2",
        "destination_uuid": make_uuid(1, 1),
    }


@pytest.mark.parametrize(("language", "localized"), [("spa", "Sí"), ("eng", ""), ("fra", "")])
def test_a_category_is_told_in_the_language_of_the_contact_if_it_is_translated(language: str, localized: str) -> None:
    played = play(
        node(0, router=switch(0, "yes", ("has_text", [], "Yes"))),
        localization={"spa": {make_uuid(4): {"name": ["Sí"]}}, "fra": {make_uuid(4): {"name": [""]}}},
        contact={"language": language},
    )
    assert (result_of(played).category, result_of(played).category_localized) == ("Yes", localized)


# Chance


@pytest.mark.parametrize(("drawn", "index"), [("0", 0), ("0.333", 0), ("0.334", 1), ("0.999999", 2)])
def test_chance_draws_a_number_and_tells_it(drawn: str, index: int) -> None:
    categories = [
        {"uuid": make_uuid(4, each), "name": f"Bucket {each}", "exit_uuid": make_uuid(5, 2)} for each in range(3)
    ]
    router = {"type": "random", "categories": categories, "result_name": "Answer"}
    played = play(ask(1, to=2), node(2, router=router))
    played.clock.drawn = Decimal(drawn)
    played.answer("no")
    result = played.session.runs[0].results["answer"]
    assert (result.value, result.category, result.input) == (str(index), f"Bucket {index}", drawn)


# Waits


@pytest.mark.parametrize(
    "hint",
    [
        {"type": "image"},
        {"type": "audio"},
        {"type": "video"},
        {"type": "location"},
        {"type": "digits", "count": 4},
        {"type": "digits", "terminated_by": "#"},
    ],
)
def test_hints_are_told_and_change_nothing(hint: dict[str, Any]) -> None:
    router = switch(0, "@input.text", ("has_any_word", ["yes"], "Yes"), wait={"type": "msg", "hint": hint})
    played = play(node(0, router=router))
    assert played.of("msg_wait")[0]["hint"] == hint
    assert result_of(played.answer("yes")).category == "Yes"


def test_a_dial_has_limits_of_its_own_and_usual_ones() -> None:
    router = switch(0, "@resume.dial.status", wait={"type": "dial", "phone": "+1 206 555 @(1213)"})
    (wait,) = play(node(0, router=router), type="voice").of("dial_wait")
    assert (wait["urn"], wait["dial_limit_seconds"], wait["call_limit_seconds"]) == ("tel:+12065551213", 60, 7200)
    assert wait["expires_on"] == "2025-05-04T14:31:30.000000Z"


@pytest.mark.parametrize("phone", ["123", "not a number", "@(1 / 0)"])
def test_what_is_no_possible_number_is_an_error_and_routing_goes_on(phone: str) -> None:
    router = switch(0, '@(default(resume.dial.status, "none"))', wait={"type": "dial", "phone": phone})
    played = play(node(0, router=router), type="voice")
    assert (played.of("dial_wait"), result_of(played).value, len(played.errors) >= 1) == ([], "none", True)


def test_a_child_asks_though_its_parent_was_started_by_a_message() -> None:
    played = play(node(0, ENTER), child=flow(ask(200), uuid=CHILD), trigger=BY_MESSAGE)
    assert [run.status for run in played.session.runs] == ["active", "waiting"]


def test_only_the_first_step_is_answered_by_the_message_that_started_the_flow() -> None:
    assert play(node(0, to=1), ask(1), trigger=BY_MESSAGE).session.is_waiting
    assert result_of(play(ask(0), trigger=BY_MESSAGE)).category == "Yes"


def test_a_background_flow_entered_from_a_message_flow_has_no_waits() -> None:
    quiet = flow(node(200, say("quiet")), uuid=CHILD, type="messaging_background")
    played = play(node(0, ENTER, router=switch(0, "@child.status")), child=quiet)
    assert (played.session.status, result_of(played).value) == ("completed", "completed")


def test_pausing_is_told_with_timeout_expiration_and_hint_as_far_as_there_are() -> None:
    (wait,) = play(ask(0)).of("msg_wait")
    assert wait == {"expires_on": "2025-05-04T13:30:00.000000Z"}
    (wait,) = play(ask(0, seconds=300), expire_after_minutes=0).of("msg_wait")
    assert wait == {"timeout_seconds": 300, "expires_on": "2025-05-07T12:30:00.000000Z"}


DIAL = {"type": "dial", "phone": "+12065551213"}
DIALLED = {"type": "dial", "event": {"type": "dial_ended", "dial": {"status": "failed", "duration": 3}}}
RESUMES: dict[str, dict[str, Any]] = {
    "msg": {"type": "msg", "event": BY_MESSAGE["event"]},
    "wait_timeout": {"type": "wait_timeout"},
    "wait_expiration": {"type": "wait_expiration"},
    "dial": DIALLED,
}
TIMEOUT = {"seconds": 60, "category_uuid": make_uuid(4, 0)}


@pytest.mark.parametrize(
    ("wait", "accepted"),
    [
        ({"type": "msg"}, ["msg", "wait_expiration"]),
        ({"type": "msg", "timeout": TIMEOUT}, ["msg", "wait_expiration", "wait_timeout"]),
        (DIAL, ["dial"]),
    ],
    ids=["message", "message with timeout", "dial"],
)
@pytest.mark.parametrize("kind", RESUMES)
def test_a_wait_accepts_what_it_waits_for(wait: dict[str, Any], accepted: list[str], kind: str) -> None:
    played = play(node(0, router=switch(0, "x", ("has_text", [], "Some"), wait=wait)), type="voice")
    before = played.session.to_json()
    if kind in accepted:
        assert not played.wake(RESUMES[kind]).session.is_waiting
        return
    with pytest.raises(ResumeError):
        played.wake(RESUMES[kind])
    assert played.session.to_json() == before


def test_a_timeout_takes_its_category_without_evaluating_the_router() -> None:
    router = switch(0, "@(1 / 0)", ("has_text", [], "Some"), wait={"type": "msg", "timeout": {**TIMEOUT, "seconds": 5}})
    played = play(node(0, router=router)).wake(RESUMES["wait_timeout"])
    result = result_of(played)
    assert (result.category, result.value, result.input, played.errors) == ("Some", "", "", [])


def test_generation_13_names_step_and_moment_of_what_happens_in_a_node() -> None:
    played = play(node(0, say("x")), options=Options(generation=13), spec_version="13.2.0")
    (made,) = [event for event in played.events if event["type"] == "msg_created"]
    assert made["step_uuid"] == played.session.runs[0].path[0].uuid != ""
    assert "uuid" not in made


def test_what_a_test_found_besides_is_kept_while_the_session_waits() -> None:
    router = switch(0, "call 555-1212", ("has_pattern", [r"(\d+)-(\d+)"], "Number"), result_name="Number")
    played = play(node(0, router=router, to=1), ask(1)).answer("yes")
    results = played.session.runs[0].results
    assert results["number"].extra == {"0": "555-1212", "1": "555", "2": "1212"}
    assert (results["number"].category_localized, results["answer"].category_localized) == ("", "")


def test_what_follows_a_wait_is_of_the_step_that_waited() -> None:
    played = play(node(0, say("Well?"), to=1), ask(1, to=2), node(2, say("Thanks")), **EARLY).answer("yes")
    steps = [step.uuid for step in played.session.runs[0].path]
    by_kind = {event["type"]: event.get("step_uuid") for event in played.events}
    assert (by_kind["run_result_changed"], by_kind["msg_created"]) == (steps[1], steps[2])


def test_a_child_that_ends_returns_to_the_step_that_entered_it() -> None:
    child = flow(node(200, say("Child")), uuid=CHILD)
    after = switch(1, "@child.status", ("has_any_word", ["completed"], "Done"))
    played = play(node(0, say("Parent"), to=1), node(1, ENTER, router=after), child=child, **EARLY)
    (result,) = [event for event in played.events if event["type"] == "run_result_changed"]
    assert result["step_uuid"] == played.session.runs[0].path[1].uuid
