"""Switches, chance, waits and results."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Options
from flows.engine import TriggerError
from tests.flows.engine.playing import Played, ask, node, play, switch
from tests.flows.hypothesis.workspace import make_uuid


def route(operand: str, *cases: tuple[str, list[str], str], **more: Any) -> Played:
    return play(node(0, router=switch(0, operand, *cases)), **more)


def result_of(played: Played) -> tuple[str, str, str]:
    result = played.session.runs[0].results["answer"]
    return result.value, result.category, result.input


def test_the_first_case_that_matches_wins() -> None:
    played = route("I am 27", ("has_any_word", ["no"], "No"), ("has_number", [], "Age"), ("has_text", [], "Some"))
    assert result_of(played) == ("27", "Age", "I am 27")


def test_space_around_operands_and_arguments_does_not_count() -> None:
    played = route(" I am @contact.first_name\n", ("has_only_text", [" I am Ann "], "Ann"))
    assert result_of(played) == ("I am Ann", "Ann", "I am Ann")


def test_the_error_of_a_test_is_told_as_a_sentence() -> None:
    played = route("5", ("has_number_gt", ["many"], "More"))
    assert played.errors == ['Error calling has_number_gt(...): unable to convert "many" to a number']


def test_arguments_are_translated_if_there_are_as_many() -> None:
    translated = {"spa": {make_uuid(3): {"arguments": ["sí"]}}}
    spanish = {"localization": translated, "contact": {"language": "spa"}}
    assert result_of(route("sí", ("has_any_word", ["yes"], "Yes"), **spanish))[1] == "Yes"
    translated["spa"][make_uuid(3)]["arguments"] = ["sí", "claro"]
    assert result_of(route("sí", ("has_any_word", ["yes"], "Yes"), **spanish))[1] == "Other"


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([("set", "a")], {"n": "a"}),
        ([("increment", "2"), ("increment", "-5")], {"n": "-3"}),
        ([("set", "a"), ("increment", "2")], {"n": "2"}),
        ([("set", "4"), ("increment", "x")], {"n": "4"}),
        ([("set", "4"), ("set", "@(1 / 0)")], {"n": "4"}),
        ([("set", "4"), ("clear", "")], {}),
    ],
)
def test_local_variables_are_set_counted_and_cleared(steps: list[tuple[str, str]], kept: dict[str, str]) -> None:
    actions = [{"type": "set_run_local", "local": "n", "operation": kind, "value": value} for kind, value in steps]
    assert play(node(0, *actions)).session.runs[0].locals == kept


def test_nothing_waits_in_the_background() -> None:
    with pytest.raises(TriggerError, match="not allowed"):
        play(ask(0), type="messaging_background")


def test_a_call_is_dialled_and_its_end_is_routed_on() -> None:
    wait = {"type": "dial", "phone": "(206) 555-1213", "dial_limit_seconds": 20, "call_limit_seconds": 100}
    router = switch(0, '@(default(resume.dial.status, ""))', ("has_only_text", ["busy"], "Busy"), wait=wait)
    played = play(node(0, router=router), type="voice")
    assert played.of("dial_wait") == [
        {
            "urn": "tel:+12065551213",
            "dial_limit_seconds": 20,
            "call_limit_seconds": 100,
            "expires_on": "2025-05-04T12:32:30.000000Z",
        }
    ]
    played.wake({"type": "dial", "event": {"type": "dial_ended", "dial": {"status": "busy", "duration": 0}}})
    assert result_of(played)[1] == "Busy"


@pytest.mark.parametrize(
    "place", [lambda dial: {"event": {"type": "dial_ended", "dial": dial}}, lambda dial: {"dial": dial}]
)
def test_generation_13_logs_the_end_of_a_call_wherever_the_host_says_it(place: Any) -> None:
    wait = {"type": "dial", "phone": "(206) 555-1213"}
    router = switch(0, "x", wait=wait)
    played = play(node(0, router=router), type="voice", options=Options(generation=13), spec_version="13.2.0")
    dial = {"status": "busy", "duration": 0}
    (waits,) = played.of("dial_wait")
    assert (waits["dial_limit_seconds"], waits["call_limit_seconds"]) == (60, 7200)

    played.wake({"type": "dial", **place(dial)})

    assert played.of("dial_ended") == [{"dial": dial}]
