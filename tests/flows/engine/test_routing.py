"""Switches, chance, waits and results."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flows import Assets, Options, start
from flows.engine import TriggerError
from tests.flows.engine.playing import ENVIRONMENT, CountingClock, Played, ask, flow, node, play, switch
from tests.flows.hypothesis.workspace import CONTACT_JSON, FLOW, make_uuid, refer


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


def test_without_a_match_the_default_has_the_operand() -> None:
    assert result_of(route("hello", ("has_number", [], "Age"))) == ("hello", "Other", "hello")


def test_a_test_in_error_is_logged_and_the_next_is_tried() -> None:
    played = route("5", ("has_number_gt", ["@(1 / 0)"], "More"), ("has_number", [], "Age"))
    assert (result_of(played)[1], len(played.errors)) == ("Age", 1)


def test_an_operand_in_error_can_be_tested_for() -> None:
    assert result_of(route("@(1 / 0)", ("has_error", [], "Wrong")))[1] == "Wrong"


def test_an_operand_in_error_that_nobody_tests_for_is_empty() -> None:
    played = route("@(1 / 0)", ("has_text", [], "Some"))
    assert (result_of(played), len(played.errors) > 0) == (("", "Other", ""), True)


def test_the_error_of_a_test_is_told_as_a_sentence() -> None:
    played = route("5", ("has_number_gt", ["many"], "More"))
    assert played.errors == ['Error calling has_number_gt(...): unable to convert "many" to a number']


def test_arguments_are_translated_if_there_are_as_many() -> None:
    translated = {"spa": {make_uuid(3): {"arguments": ["sí"]}}}
    spanish = {"localization": translated, "contact": {"language": "spa"}}
    assert result_of(route("sí", ("has_any_word", ["yes"], "Yes"), **spanish))[1] == "Yes"
    translated["spa"][make_uuid(3)]["arguments"] = ["sí", "claro"]
    assert result_of(route("sí", ("has_any_word", ["yes"], "Yes"), **spanish))[1] == "Other"


def test_category_names_are_saved_in_the_flows_language_and_in_the_contacts() -> None:
    spanish = {"localization": {"spa": {make_uuid(4): {"name": ["Algo"]}}}, "contact": {"language": "spa"}}
    result = route("x", ("has_text", [], "Some"), **spanish).session.runs[0].results["answer"]
    assert (result.category, result.category_localized) == ("Some", "Algo")


def test_a_router_without_a_way_out_fails_the_session() -> None:
    played = play(node(0, router=switch(0, "x", default_category_uuid=None)))
    assert (played.session.status, played.session.runs[0].status) == ("failed", "failed")
    assert len(played.of("failure")) == 1


@pytest.mark.parametrize(("drawn", "index"), [("0", 0), ("0.49", 0), ("0.5", 1), ("0.99999", 1)])
def test_chance_picks_a_category(drawn: str, index: int) -> None:
    categories = [{"uuid": make_uuid(4, each), "name": f"C{each}", "exit_uuid": make_uuid(5)} for each in (0, 1)]
    router = {"type": "random", "categories": categories, "result_name": "Answer"}
    assets = Assets(flows=[flow(node(0, router=router))])
    trigger = {"type": "manual", "flow": refer(FLOW)}
    session, _ = start(assets, CONTACT_JSON, trigger, ENVIRONMENT, clock=CountingClock(Decimal(drawn)))
    result = session.runs[0].results["answer"]
    assert (result.value, result.category, result.input) == (str(index), f"C{index}", drawn)


def test_results_are_cut_and_replaced_and_their_keys_are_plain() -> None:
    save = {"type": "set_run_result", "name": "Two  Words!", "category": ""}
    played = play(node(0, {**save, "value": "first"}, {**save, "value": '@(repeat("x", 700))'}))
    (key, result) = next(iter(played.session.runs[0].results.items()))
    assert (key, result.value) == ("two_words_", "x" * 640)
    assert played.of("run_result_changed")[1]["previous"] == {"value": "first", "category": ""}


def test_a_result_that_stays_the_same_is_no_change() -> None:
    save = {"type": "set_run_result", "name": "A", "value": "x", "category": "B"}
    assert len(play(node(0, save, save)).of("run_result_changed")) == 1


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


def test_a_wait_says_how_long_it_lasts() -> None:
    played = play(ask(0, seconds=60), expire_after_minutes=10)
    (wait,) = played.of("msg_wait")
    assert (wait["timeout_seconds"], wait["expires_on"]) == (60, "2025-05-04T12:40:00.000000Z")


def test_the_message_that_starts_a_flow_answers_its_first_question() -> None:
    event = {"uuid": make_uuid(7), "created_on": "2025-05-04T12:30:00Z", "msg": {"text": "yes", "urn": "tel:+1"}}
    played = play(ask(0, to=1), ask(1), trigger={"type": "msg", "event": event})
    assert played.session.is_waiting
    assert [step.node_uuid for step in played.session.runs[0].path] == [make_uuid(1, 0), make_uuid(1, 1)]
    assert result_of(played)[1] == "Yes"


def test_nothing_waits_in_the_background() -> None:
    with pytest.raises(TriggerError, match="not allowed"):
        play(ask(0), type="messaging_background")


def test_a_number_that_cannot_be_dialled_is_no_wait() -> None:
    wait = {"type": "dial", "phone": "@(1)"}
    played = play(node(0, router=switch(0, "x", wait=wait)), type="voice")
    assert (played.session.status, len(played.errors)) == ("completed", 1)


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
