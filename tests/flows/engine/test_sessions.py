"""Sessions: resuming, ending, children, limits, and their stored form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flows import Options, Session, interrupt, start
from flows.engine import CheckedTrigger, ContactError, ResumeError, SessionStateError, TriggerError
from tests.flows.engine.playing import Played, ask, flow, node, play, switch
from tests.flows.hypothesis.workspace import CHILD, CONTACT_JSON, FLOW, SMART, make_uuid, refer

ENTER = {"type": "enter_flow", "flow": refer(CHILD), "terminal": False}
EXPIRED = {"type": "wait_expiration"}
TIMED_OUT = {"type": "wait_timeout"}
DIALLED = {"type": "dial", "event": {"type": "dial_ended", "dial": {"status": "busy", "duration": 0}}}


def statuses(played: Played) -> list[str]:
    return [played.session.status, *(run.status for run in played.session.runs)]


def parent_of(**child: Any) -> Played:
    """A flow that enters another and then tests how that ended."""
    cases = ("has_only_text", ["completed"], "Done"), ("has_only_text", ["expired"], "Expired")
    return play(node(0, ENTER, router=switch(0, "@child.status", *cases)), **child)


def test_an_answer_wakes_a_session() -> None:
    played = play(ask(0)).answer("yes")
    assert statuses(played) == ["completed", "completed"]
    assert played.session.runs[0].had_input
    assert played.session.contact.last_seen_on == "2025-05-04T12:31:00Z"


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


def test_a_wait_that_expires_ends_the_run() -> None:
    played = play(ask(0)).wake(EXPIRED)
    assert statuses(played) == ["completed", "expired"]
    assert played.session.runs[0].exited_on


def test_a_child_that_is_done_lets_its_parent_go_on() -> None:
    played = parent_of()
    assert statuses(played) == ["waiting", "active", "waiting"]
    played.answer("yes")
    assert statuses(played) == ["completed", "completed", "completed"]
    assert played.session.runs[0].results["answer"].category == "Done"


def test_only_the_innermost_run_expires() -> None:
    played = parent_of().wake(EXPIRED)
    assert statuses(played) == ["completed", "completed", "expired"]
    assert played.session.runs[0].results["answer"].category == "Expired"


def test_a_child_that_fails_fails_its_parent() -> None:
    stuck = flow(node(200, router=switch(200, "x", default_category_uuid=None)), uuid=CHILD)
    assert statuses(parent_of(child=stuck)) == ["failed", "failed", "failed"]


def test_nothing_returns_from_a_flow_entered_for_good() -> None:
    played = play(node(0, {**ENTER, "terminal": True}, to=1), node(1, {"type": "send_msg", "text": "never"}))
    assert statuses(played) == ["waiting", "completed", "waiting"]
    assert statuses(played.answer("yes")) == ["completed", "completed", "completed"]
    assert played.of("msg_created") == []


def test_the_last_of_several_flows_is_entered_and_all_actions_run() -> None:
    other = {**ENTER, "flow": refer(FLOW)}
    played = play(node(0, other, ENTER, {"type": "send_msg", "text": "still here"}))
    assert [run.flow["uuid"] for run in played.session.runs] == [FLOW, CHILD]
    assert len(played.of("msg_created")) == 1


@pytest.mark.parametrize(
    "child", [flow(ask(200), uuid=make_uuid(70)), flow(node(200), uuid=CHILD, type="voice")], ids=["missing", "voice"]
)
def test_a_flow_that_cannot_be_entered_fails_the_session(child: Any) -> None:
    assert statuses(parent_of(child=child)) == ["failed", "failed"]


def test_a_circle_without_a_wait_fails() -> None:
    played = play(node(0, to=1), node(1, to=0))
    assert (statuses(played), len(played.session.runs[0].path)) == (["failed", "failed"], 100)


def test_a_flow_that_enters_itself_fails() -> None:
    played = play(node(0, {**ENTER, "flow": refer(FLOW)}))
    assert played.session.status == "failed"
    assert {run.status for run in played.session.runs} == {"failed"}


@pytest.mark.parametrize("options", [Options(sprints_per_session=2), Options(runs_per_session=2)])
def test_sessions_have_limits(options: Options) -> None:
    child = flow(node(200), uuid=CHILD)
    played = play(ask(0, to=1), node(1, ENTER, to=0), child=child, options=options)
    for _ in range(3):
        if played.session.is_waiting:
            played.answer("yes")
    assert played.session.status == "failed"
    assert "maximum number" in played.of("failure")[0]["text"]


def test_a_flow_that_has_lost_its_node_fails_the_session() -> None:
    played = play(ask(0))
    played.assets = play(ask(1)).assets
    assert statuses(played.answer("yes")) == ["failed", "failed"]


@pytest.mark.parametrize("status", ["interrupted", "expired"])
def test_a_session_is_ended_from_outside_with_all_its_runs(status: str) -> None:
    played = parent_of()
    ended, _ = interrupt(played.session, clock=played.clock, status=status)
    assert {ended.status, *(run.status for run in ended.runs)} == {status}
    assert all(run.exited_on for run in ended.runs)
    assert played.session.is_waiting


def test_steps_keep_the_exit_by_which_they_were_left() -> None:
    played = play(node(0, to=1), ask(1))
    assert [step.exit_uuid for step in played.session.runs[0].path] == [make_uuid(5, 0), ""]


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


def test_what_started_a_session_can_be_looked_up() -> None:
    say = {"type": "send_msg", "text": "@trigger.type @trigger.params.x @parent.results.age @parent.contact.name"}
    summary = {
        "uuid": make_uuid(8),
        "flow": refer(CHILD),
        "status": "completed",
        "contact": {"uuid": make_uuid(9), "name": "Bob"},
        "results": {"age": {"name": "Age", "value": "27"}},
    }
    trigger = {"type": "flow_action", "run_summary": summary, "params": {"x": 5}}
    (sent,) = play(node(0, say), trigger=trigger).of("msg_created")
    assert sent["msg"]["text"] == "flow_action 5 27 Bob"


def test_a_session_survives_its_stored_form() -> None:
    played = parent_of()
    assert Session.from_json(json.loads(json.dumps(played.session.to_json()))) == played.session


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
