"""Events and results, rule by rule (flow format, sections 8 and 9)."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Options, Services
from flows.engine.services import WebhookReply
from tests.flows.engine.playing import ask, flow, node, play
from tests.flows.hypothesis.workspace import CHANNEL, CHILD, FLOW, refer

MOMENT = "2025-05-04T12:30:00.000000Z"
EARLY: dict[str, Any] = {"options": Options(generation=13), "spec_version": "13.2.0"}
ENTER = {"type": "enter_flow", "flow": refer(CHILD), "terminal": False}
MESSAGE = {"text": "yes", "urn": "tel:+12065551212", "channel": refer(CHANNEL), "external_id": "x1"}
EXPIRED, TIMED_OUT = {"type": "wait_expiration"}, {"type": "wait_timeout"}


def say(text: str) -> dict[str, Any]:
    return {"type": "send_msg", "text": text}


def everything(generation: int) -> list[dict[str, Any]]:
    options = EARLY if generation == 13 else {}
    actions = [say("x"), {"type": "set_contact_name", "name": "Zoe"}, {"type": "set_contact_name", "name": "@(1 / 0)"}]
    played = play(node(0, *actions, ENTER, to=1), ask(1), child=flow(node(200), uuid=CHILD), **options)
    return played.events + played.answer("yes").events


def test_every_event_has_a_uuid_a_type_and_a_moment() -> None:
    events = everything(14)
    assert all(event["type"] and event["created_on"] == MOMENT for event in events)
    assert len({event["uuid"] for event in events}) == len(events) > 8
    assert not any("step_uuid" in event for event in events)


def test_in_generation_13_those_of_a_node_named_its_step() -> None:
    events = everything(13)
    assert not any("uuid" in event for event in events)
    assert all(event["step_uuid"] for event in events if event["type"] in ("msg_created", "msg_wait", "error"))


def test_runs_are_told_from_their_begin_to_their_end() -> None:
    played = play(node(0, ENTER), child=flow(node(200), uuid=CHILD))
    parent, child = (run.uuid for run in played.session.runs)
    revised, entered = {**refer(FLOW), "revision": 1}, {**refer(CHILD), "revision": 1}
    assert played.of("run_started") == [
        {"flow": revised, "run_uuid": parent},
        {"flow": entered, "run_uuid": child, "parent_uuid": parent},
    ]
    assert played.of("run_ended") == [
        {"run_uuid": child, "flow": entered, "status": "completed"},
        {"run_uuid": parent, "flow": revised, "status": "completed"},
    ]


@pytest.mark.parametrize(
    ("wake", "event"),
    [
        ({"type": "msg", "msg": MESSAGE}, ("msg_received", {"msg": MESSAGE})),
        (TIMED_OUT, ("wait_timed_out", {})),
        (EXPIRED, ("run_expired", None)),
    ],
)
def test_generation_13_has_an_event_for_what_resumed_a_session(wake: dict[str, Any], event: tuple[str, Any]) -> None:
    played = play(ask(0, seconds=60), **EARLY).wake(wake)
    (told,) = played.of(event[0])
    assert event[1] is None or told == event[1]


def test_generation_14_leaves_that_to_the_host() -> None:
    assert play(ask(0)).answer("yes").kinds == ["run_result_changed", "run_ended"]


def test_a_call_is_told_with_its_traces() -> None:
    class Web:
        def call(self, request: Any) -> WebhookReply:
            return WebhookReply(201, "POST / HTTP/1.1\r\n\r\nhi", "HTTP/1.1 201\r\n\r\n{}", b"{}", {}, 12, 1, 21, 18)

    action = {"type": "call_webhook", "method": "POST", "url": "http://a.b/", "body": "hi"}
    (told,) = play(node(0, action), services=Services(webhook=Web())).of("webhook_called")
    assert told == {
        "url": "http://a.b/",
        "status": "success",
        "status_code": 201,
        "request": "POST / HTTP/1.1\r\n\r\nhi",
        "response": "HTTP/1.1 201\r\n\r\n{}",
        "elapsed_ms": 12,
        "retries": 1,
        "sizes": {"request": 21, "response": 18},
    }
    (early,) = play(node(0, {**action, "result_name": "x"}), services=Services(webhook=Web()), **EARLY).of(
        "webhook_called"
    )
    assert (early["extraction"], "sizes" in early) == ("valid", False)


def test_too_complex_expressions_have_a_code_of_their_own() -> None:
    text = "@(" + "(" * 150 + "1" + ")" * 150 + ")"
    played = play(node(0, say(text)))
    assert {event["code"] for event in played.of("error")} <= {"expression", "expression:too_complex"}
    heavy = '@(count(foreach(split(repeat("a ", 5000)), (x) => repeat(x, 9999))))'
    (error,) = play(node(0, say(heavy))).of("error")
    assert error["code"] == "expression:too_complex"


# Results


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Size", "size"),
        (" Two  Words ", "two_words"),
        ("a-b/c", "a_b_c"),
        ("under_score", "under_score"),
        ("Größe", "größe"),
        ("السن", "السن"),
        ("100%!", "100_"),
    ],
)
def test_results_go_by_a_key_made_of_their_name(name: str, key: str) -> None:
    save = {"type": "set_run_result", "name": name, "value": "1", "category": ""}
    assert list(play(node(0, save)).session.runs[0].results) == [key]


def test_a_result_of_the_same_key_takes_the_place_of_the_earlier() -> None:
    save = {"type": "set_run_result", "value": "1", "category": ""}
    played = play(node(0, {**save, "name": "My Size"}, {**save, "name": "my-size", "value": "2"}))
    (result,) = played.session.runs[0].results.values()
    assert (result.name, result.value) == ("my-size", "2")
