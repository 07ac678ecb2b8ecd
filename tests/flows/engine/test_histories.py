"""Sessions that start sessions are stopped before they continue forever (flow format, triggers and loop protection)."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Options
from tests.flows.engine.playing import Played, ask, node, play
from tests.flows.hypothesis.workspace import CHILD, CONTACT, GROUP, make_uuid, refer

START = {"type": "start_session", "flow": refer(CHILD), "contacts": [refer(CONTACT)]}
MESSAGE = {"text": "yes", "urn": "tel:+12065551212"}
MSG = {"uuid": make_uuid(7), "type": "msg_received", "created_on": "2025-05-04T12:30:00Z", "msg": MESSAGE}


def begin(since_input: int, *, kind: str = "manual", options: Options | None = None, waits: bool = False) -> Played:
    history = {"parent_uuid": make_uuid(70), "ancestors": 7, "ancestors_since_input": since_input}
    trigger: dict[str, Any] = {"type": kind, "history": history} | ({"event": MSG} if kind == "msg" else {})
    nodes = [ask(0, to=1), node(1, START)] if waits else [node(1, START)]
    return play(*nodes, trigger=trigger, options=options)


def counts(played: Played) -> list[tuple[int, int]]:
    histories = [event["history"] for event in played.of("session_triggered")]
    assert all(history["parent_uuid"] == played.session.uuid for history in histories)
    return [(history["ancestors"], history["ancestors_since_input"]) for history in histories]


def test_each_session_counts_one_ancestor_more() -> None:
    assert counts(begin(2)) == [(8, 3)]


def test_a_message_that_starts_a_session_counts_ancestors_anew() -> None:
    assert counts(begin(4, kind="msg")) == [(8, 0)]


def test_an_answer_counts_ancestors_anew_and_a_timeout_does_not() -> None:
    assert counts(begin(4, waits=True).answer("yes")) == [(8, 0)]
    assert counts(begin(3, waits=True).wake({"type": "wait_expiration"})) == []


@pytest.mark.parametrize(("since_input", "is_refused"), [(4, False), (5, True), (6, True)])
def test_too_many_sessions_since_the_last_input_are_an_error(since_input: int, is_refused: bool) -> None:
    played = begin(since_input)
    text = "Too many sessions have been spawned since the last time input was received"
    assert (played.errors, played.of("session_triggered") == []) == (([text], True) if is_refused else ([], False))


@pytest.mark.parametrize("since_input", [5, 50])
def test_input_ends_the_chain_of_sessions(since_input: int) -> None:
    assert counts(begin(since_input, waits=True).answer("yes")) == [(8, 0)]
    assert counts(begin(since_input, kind="msg")) == [(8, 0)]


def test_how_many_there_may_be_is_a_setting() -> None:
    assert len(begin(1, options=Options(ancestors_since_input=1)).errors) == 1


def test_a_session_without_history_is_the_first() -> None:
    played = play(node(0, {**START, "groups": [refer(GROUP)]}))
    assert counts(played) == [(1, 1)]
