"""Sessions: resuming, ending, children, limits, and their stored form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flows import Session, start
from flows.engine import CheckedTrigger, ContactError, ResumeError, SessionStateError, TriggerError
from tests.flows.engine.playing import Played, ask, node, play, switch
from tests.flows.hypothesis.workspace import CHILD, CONTACT_JSON, FLOW, SMART, make_uuid, refer

ENTER = {"type": "enter_flow", "flow": refer(CHILD), "terminal": False}
TIMED_OUT = {"type": "wait_timeout"}
DIALLED = {"type": "dial", "event": {"type": "dial_ended", "dial": {"status": "busy", "duration": 0}}}


def parent_of(**child: Any) -> Played:
    """A flow that enters another and then tests how that ended."""
    cases = ("has_only_text", ["completed"], "Done"), ("has_only_text", ["expired"], "Expired")
    return play(node(0, ENTER, router=switch(0, "@child.status", *cases)), **child)


def test_groups_are_settled_once_the_node_that_waited_is_left() -> None:
    young = {**CONTACT_JSON, "fields": {"age": {"text": "9", "number": 9}}, "groups": [refer(SMART, "Adults")]}
    kinds = play(ask(0, seconds=60)).wake({**TIMED_OUT, "contact": young}).kinds
    assert kinds == ["contact_refreshed", "run_result_changed", "contact_groups_changed", "run_ended"]


@pytest.mark.parametrize("given", [TIMED_OUT, DIALLED, {"type": "song"}, {"type": "msg"}, {}, None])
def test_what_a_wait_does_not_accept_changes_nothing(given: Any) -> None:
    played = play(ask(0))
    before = played.session.to_json()
    with pytest.raises(ResumeError):
        played.wake(given or {"type": None})
    assert played.session.to_json() == before


def test_only_waiting_sessions_wake() -> None:
    played = play(node(0))
    with pytest.raises(ResumeError, match="only waiting"):
        played.answer("yes")


@pytest.mark.parametrize(
    "trigger",
    [{"type": "song"}, {"flow": None}, {"flow": refer(make_uuid(71))}, {"type": "msg"}, {"params": [1]},
     {"type": "msg", "msg": {"text": "x"}, "keyword_match": {"type": "any", "keyword": "x"}},
     {"type": "flow_action"}, {"type": "ticket"}, {"type": "campaign"}],
)  # fmt: skip
def test_triggers_that_cannot_be_read_are_refused(trigger: Any) -> None:
    with pytest.raises(TriggerError):
        play(node(0), trigger=trigger)


def test_a_trigger_is_checked_once_for_many_contacts() -> None:
    assets = play(ask(0)).assets
    checked = CheckedTrigger({"type": "manual", "flow": refer(FLOW), "params": {"town": "Kigali"}})
    sessions = [start(assets, {"uuid": make_uuid(60, number), "name": "Ann"}, checked)[0] for number in range(2)]

    assert [session.trigger for session in sessions] == [checked, checked]
    with pytest.raises(TriggerError):
        CheckedTrigger({"type": "song", "flow": refer(FLOW)})


def test_contacts_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(ContactError, match="status"):
        play(node(0), contact={"status": "lost"})


def test_a_session_reads_its_own_stored_form_as_any_other() -> None:
    stored = json.loads(json.dumps(parent_of().session.to_json()))
    assert Session.from_own_json(stored) == Session.from_json(stored)


def test_state_of_another_version_is_checked_as_that_of_strangers() -> None:
    stored = {**parent_of().session.to_json(), "sprints": "many"}
    for state in ({**stored, "stamp": 0}, {name: value for name, value in stored.items() if name != "stamp"}):
        with pytest.raises(SessionStateError, match="sprints"):
            Session.from_own_json(state)


@pytest.mark.parametrize(
    "damage",
    [{"runs": [{}]}, {"runs": [None]}, {"contact": {}}, {"contact": {"uuid": "u", "urns": [1]}}, {"trigger": None},
     {"environment": {"allowed_languages": 1}}, {"generation": 12}, {"sprints": "many"}],
)  # fmt: skip
def test_damaged_state_of_its_own_is_refused_like_any_other(damage: dict[str, Any]) -> None:
    stored = {**parent_of().session.to_json(), **damage}
    with pytest.raises(SessionStateError, match=r"session cannot be read|not a generation"):
        Session.from_own_json(stored)


def test_old_state_without_what_came_later_is_read() -> None:
    stored = parent_of().session.to_json()
    for name in ("environment", "sprints"):
        stored.pop(name)
    for run in stored["runs"]:
        run.pop("exited_on")
        run["path"] = [{**step, "since_forgotten": 1} for step in run["path"]]
    read = Session.from_json(stored)
    assert (read.is_waiting, read.sprints) == (True, 0)


@pytest.mark.parametrize("part", ["uuid", "type", "generation", "status", "created_on", "trigger", "contact"])
def test_state_that_lacks_something_needed_is_refused(part: str) -> None:
    stored = play(ask(0)).session.to_json()
    stored.pop(part)
    with pytest.raises(SessionStateError, match=part):
        Session.from_json(stored)
