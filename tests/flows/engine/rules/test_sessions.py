"""Sessions, sprints, triggers and resumes, rule by rule (flow format, sections 6 and 7)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flows import Assets, Options, Session, interrupt, start
from flows.engine import ResumeError
from tests.flows.engine.playing import ENVIRONMENT, CountingClock, Played, ask, flow, node, play, switch
from tests.flows.hypothesis.workspace import CHANNEL, CHILD, CONTACT, CONTACT_JSON, FLOW, SMART, make_uuid, refer

MOMENT = "2025-05-04T12:30:00.000000Z"
EARLY: dict[str, Any] = {"options": Options(generation=13), "spec_version": "13.2.0"}
ENTER = {"type": "enter_flow", "flow": refer(CHILD), "terminal": False}
MESSAGE = {"text": "yes", "urn": "tel:+12065551212", "channel": refer(CHANNEL), "external_id": "x1"}
RECEIVED = {"uuid": make_uuid(7), "type": "msg_received", "created_on": "2025-05-04T12:31:00Z", "msg": MESSAGE}
EXPIRED, TIMED_OUT = {"type": "wait_expiration"}, {"type": "wait_timeout"}


def say(text: str) -> dict[str, Any]:
    return {"type": "send_msg", "text": text}


def texts(played: Played) -> list[str]:
    return [event["msg"]["text"] for event in played.of("msg_created")]


def statuses(played: Played) -> list[str]:
    return [played.session.status, *(run.status for run in played.session.runs)]


def begin_with(*flows: dict[str, Any], options: Options | None = None) -> tuple[Session, list[dict[str, Any]]]:
    """Starts the first of several flows."""
    trigger = {"type": "manual", "flow": refer(FLOW), "triggered_on": MOMENT}
    assets = Assets.from_json({"flows": list(flows)})
    return start(assets, CONTACT_JSON, trigger, ENVIRONMENT, clock=CountingClock(), options=options or Options())


# State


def test_a_session_has_what_belongs_to_its_state() -> None:
    played = play(ask(0), trigger={"type": "msg", "event": RECEIVED})
    stored = played.session.to_json()
    assert (stored["type"], stored["status"], stored["sprints"]) == ("messaging", "completed", 1)
    assert (stored["created_on"], stored["contact"]["uuid"], stored["trigger"]["type"]) == (MOMENT, CONTACT, "msg")
    assert stored["input"]["text"] == "yes"
    (run,) = stored["runs"]
    assert (run["flow"], run["status"], run["had_input"]) == ({**refer(FLOW), "revision": 1}, "completed", True)
    assert (run["created_on"], run["modified_on"], run["exited_on"]) == (MOMENT, MOMENT, MOMENT)
    assert run["path"] == [{"node_uuid": make_uuid(1, 0), "arrived_on": MOMENT, "exit_uuid": make_uuid(5, 0)}]
    assert json.loads(json.dumps(stored)) == stored


def test_a_run_that_goes_on_has_not_exited() -> None:
    (run,) = play(ask(0)).session.to_json()["runs"]
    assert (run["status"], run["exited_on"]) == ("waiting", None)
    assert "exit_uuid" not in run["path"][0]
    assert "had_input" not in run


def test_sprints_are_counted() -> None:
    played = play(ask(0, to=1), ask(1))
    assert played.session.sprints == 1
    assert played.answer("no").session.sprints == 2
    assert played.answer("no").session.sprints == 3


# A sprint


def test_groups_are_settled_before_anything_happens() -> None:
    contact = {"groups": [refer(SMART)], "fields": {}}
    played = play(node(0, say("@contact.groups")), contact=contact)
    assert played.kinds == ["contact_groups_changed", "run_started", "msg_created", "run_ended"]
    assert texts(played) == ["[]"]


def test_a_child_begins_at_its_first_node_with_the_current_run_as_its_parent() -> None:
    played = play(node(0, ENTER), child=flow(node(201, say("first"), to=202), ask(202), uuid=CHILD))
    parent, child = played.session.runs
    assert (child.parent_uuid, texts(played)) == (parent.uuid, ["first"])
    assert (parent.status, child.status) == ("active", "waiting")


def test_a_parent_goes_on_from_its_own_node_and_its_own_results() -> None:
    save = {"type": "set_run_result", "name": "Size", "value": "child's", "category": ""}
    own = {**save, "value": "parent's"}
    child = flow(node(200, save, say("@parent.results.size")), uuid=CHILD)
    played = play(node(0, own, ENTER, to=1), node(1, say("@results.size @child.results.size")), child=child)
    assert texts(played) == ["parent's", "parent's child's"]


def test_grandchildren_return_one_by_one() -> None:
    middle = flow(node(200, {**ENTER, "flow": refer(make_uuid(71))}, to=201), node(201, say("middle")), uuid=CHILD)
    session, events = begin_with(
        flow(node(0, ENTER, to=1), node(1, say("top"))), middle, flow(node(300, say("bottom")), uuid=make_uuid(71))
    )
    assert [event["msg"]["text"] for event in events if event["type"] == "msg_created"] == ["bottom", "middle", "top"]
    assert [session.status, *(run.status for run in session.runs)] == ["completed"] * 4


def test_a_failure_marks_the_run_and_every_ancestor_with_the_moment() -> None:
    stuck = switch(300, "x")
    del stuck["default_category_uuid"]
    session, events = begin_with(
        flow(node(0, ENTER, to=1), node(1, say("never"))),
        flow(node(200, {**ENTER, "flow": refer(make_uuid(71))}), uuid=CHILD),
        flow(node(300, router=stuck), uuid=make_uuid(71)),
    )
    assert [session.status, *(run.status for run in session.runs)] == ["failed"] * 4
    assert all(run.exited_on == MOMENT for run in session.runs)
    assert [event["type"] for event in events].count("failure") == 1
    assert not [event for event in events if event["type"] == "msg_created"]


def test_an_action_that_fails_the_run_ends_its_node() -> None:
    gone = {**ENTER, "flow": refer(make_uuid(69))}
    assert texts(play(node(0, say("a"), gone, say("b"), to=1), node(1, say("c")))) == ["a"]


@pytest.mark.parametrize(("limit", "count"), [(100, 100), (250, 250)])
def test_steps_of_a_sprint_are_limited(limit: int, count: int) -> None:
    played = play(node(0, to=1), node(1, to=0), options=Options(steps_per_sprint=limit))
    assert (played.session.status, len(played.session.runs[0].path)) == ("failed", count)
    assert played.of("failure") == [{"text": f"Reached maximum number of steps per sprint ({limit})"}]


def test_each_sprint_has_steps_of_its_own() -> None:
    nodes = [ask(0, to=1), *(node(number, to=number + 1) for number in range(1, 9)), ask(9, to=0)]
    played = play(*nodes, options=Options(steps_per_sprint=11))
    for _ in range(4):
        played.answer("no")
    assert played.session.is_waiting


def test_sprints_of_a_session_are_limited() -> None:
    played = play(ask(0, to=0), options=Options(sprints_per_session=3))
    assert [played.answer("no").session.status for _ in range(3)] == ["waiting", "waiting", "failed"]
    assert played.of("failure") == [{"text": "Reached maximum number of sprints per session (3)"}]


def test_runs_of_a_session_are_limited() -> None:
    played = play(node(0, {**ENTER, "flow": refer(FLOW)}), options=Options(runs_per_session=4))
    assert statuses(played) == ["failed"] * 5


def test_templates_are_cut_to_ten_thousand_characters() -> None:
    (text,) = texts(play(node(0, say('@(repeat("é", 10000))@(repeat("x", 10000))'))))
    assert len(text) == 10_000


# Resuming


def test_a_message_becomes_the_input_and_says_when_the_contact_was_seen() -> None:
    played = play(ask(0, to=1), node(1, say("@input.text @input.external_id @input.channel.name")))
    played.wake({"type": "msg", "event": RECEIVED})
    assert texts(played) == ["yes x1 Thing"]
    assert (played.session.contact.last_seen_on, played.session.runs[0].had_input) == ("2025-05-04T12:31:00Z", True)


def test_a_timeout_clears_the_input_and_leaves_by_its_category() -> None:
    played = play(ask(0, to=1), ask(1, seconds=60, to=2), node(2, say("@(json(input)) @results.answer.category")))
    played.answer("yes").wake(TIMED_OUT)
    assert texts(played) == ["null Other"]
    assert not play(ask(0, seconds=60)).wake(TIMED_OUT).session.runs[0].had_input


def test_an_expiration_ends_the_session_if_there_is_no_parent() -> None:
    played = play(ask(0, to=1), node(1, say("never"))).wake(EXPIRED)
    assert (statuses(played), texts(played)) == (["completed", "expired"], [])
    assert played.session.runs[0].exited_on == MOMENT


def test_after_the_childs_expiration_its_parent_goes_on_and_sees_it() -> None:
    router = switch(0, "@child.status", ("has_only_text", ["expired"], "Late"))
    played = play(node(0, ENTER, router=router, to=1), node(1, say("@results.answer.category @child.status")))
    assert texts(played.wake(EXPIRED)) == ["Late expired"]
    assert statuses(played) == ["completed", "completed", "expired"]


@pytest.mark.parametrize("status", ["answered", "no_answer", "busy", "failed"])
def test_the_end_of_a_dial_is_seen_by_the_router(status: str) -> None:
    wait = {"type": "dial", "phone": "+12065551213"}
    router = switch(0, '@(default(resume.dial.status, ""))', ("has_only_text", [status], "Right"), wait=wait)
    played = play(node(0, router=router, to=1), node(1, say("@resume.type @resume.dial.duration")), type="voice")
    dial = {"status": status, "duration": 7}
    played.wake({"type": "dial", "event": {"type": "dial_ended", "dial": dial}})
    assert (played.session.runs[0].results["answer"].category, texts(played)) == ("Right", ["dial 7"])


@pytest.mark.parametrize("dial", [{"status": "asleep"}, {}, None, {"status": "busy", "duration": "long"}])
def test_an_end_of_a_dial_that_cannot_be_is_refused(dial: Any) -> None:
    wait = {"type": "dial", "phone": "+12065551213"}
    played = play(node(0, router=switch(0, "x", wait=wait)), type="voice")
    with pytest.raises(ResumeError):
        played.wake({"type": "dial", "event": {"type": "dial_ended", "dial": dial}})
    assert played.session.is_waiting


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([node(1)], "Unable to find resume node"),
        ([node(0)], "Can't resume from node without a router or wait"),
        ([node(0, router=switch(0, "x"))], "Can't resume from node without a router or wait"),
    ],
)
def test_a_flow_that_changed_under_a_waiting_session_fails_it(nodes: Any, text: str) -> None:
    played = play(ask(0))
    played.assets = play(*nodes).assets
    played.answer("yes")
    assert (statuses(played), played.of("failure")) == (["failed", "failed"], [{"text": text}])


def test_a_flow_that_is_gone_fails_the_session_that_waits_in_it() -> None:
    played = play(ask(0))
    played.assets = Assets.from_json({"flows": []})
    played.answer("yes")
    assert played.of("failure") == [{"text": "Can't resume run with missing flow asset"}]


def test_a_parent_whose_flow_is_gone_fails_when_its_child_ends() -> None:
    played = play(node(0, ENTER), child=flow(ask(200), uuid=CHILD))
    played.assets = Assets.from_json({"flows": [flow(ask(200), uuid=CHILD)]})
    assert statuses(played.answer("yes")) == ["failed", "failed", "completed"]


@pytest.mark.parametrize("status", ["interrupted", "expired"])
def test_dropping_a_session_marks_what_was_not_over(status: str) -> None:
    done = flow(node(200), uuid=CHILD)
    played = play(node(0, ENTER, to=1), ask(1), child=done)
    dropped, events = interrupt(played.session, clock=played.clock, status=status)
    assert [dropped.status, *(run.status for run in dropped.runs)] == [status, status, "completed"]
    assert [event["status"] for event in events] == [status]


@pytest.mark.parametrize("status", ["completed", "failed", "waiting", ""])
def test_a_session_is_not_dropped_as_anything_else(status: str) -> None:
    played = play(ask(0))
    with pytest.raises(ValueError, match="interrupted or expired"):
        interrupt(played.session, clock=played.clock, status=status)


# Triggers

CAMPAIGN = {"type": "campaign_fired", "campaign": refer(make_uuid(51), "Reminders"), "point_uuid": make_uuid(52)}
TICKET = {"uuid": make_uuid(50), "status": "closed", "topic": refer(make_uuid(96), "General")}


@pytest.mark.parametrize(
    ("trigger", "seen"),
    [
        ({"type": "manual"}, {}),
        ({"type": "manual", "params": {"a": 1}, "origin": "ui"}, {"params": {"a": 1}, "origin": "ui"}),
        (
            {"type": "msg", "event": RECEIVED, "keyword_match": {"type": "only_word", "keyword": "yes"}},
            {"keyword": "yes"},
        ),
        ({"type": "campaign", "event": CAMPAIGN}, {"campaign": refer(make_uuid(51), "Reminders")}),
        ({"type": "call", "event": {"type": "call_received", "channel": refer(CHANNEL)}}, {}),
        ({"type": "optin", "event": {"type": "optin_started", "optin": refer(make_uuid(53))}}, {}),
        (
            {"type": "ticket", "event": {"type": "ticket_closed", "ticket": TICKET}},
            {"ticket": {"uuid": make_uuid(50), "topic": refer(make_uuid(96), "General"), "assignee": None}},
        ),
    ],
)
def test_what_began_a_session_is_seen_and_the_rest_is_empty(trigger: Any, seen: dict[str, Any]) -> None:
    (text,) = texts(play(node(0, say("@(json(trigger))")), trigger=trigger))
    nothing = {"params": {}, "keyword": "", "user": None, "origin": "", "campaign": None, "ticket": None}
    assert json.loads(text) == {**nothing, "type": trigger["type"], **seen}


@pytest.mark.parametrize("optin", [None, refer(make_uuid(53), "Jokes")])
def test_generation_13_sees_the_optin_that_began_a_session(optin: Any) -> None:
    event = {"type": "optin_started", **({} if optin is None else {"optin": optin})}
    trigger = {"type": "optin" if optin else "manual", "event": event}
    (text,) = texts(play(node(0, say("@(json(trigger.optin))")), trigger=trigger, **EARLY))

    assert json.loads(text) == optin


def test_a_session_started_by_another_sees_its_run_as_parent() -> None:
    summary = {
        "uuid": make_uuid(8),
        "flow": refer(make_uuid(9), "Before"),
        "status": "active",
        "contact": {"uuid": make_uuid(10), "name": "Bob", "urns": ["tel:+12065550000"]},
        "results": {"size": {"name": "Size", "value": "XL", "category": "Big"}},
    }
    template = (
        "@parent.uuid @parent.flow.name @parent.status @parent.contact.name @parent.results.size.category @parent"
    )
    played = play(node(0, say(template)), trigger={"type": "flow_action", "run_summary": summary})
    assert texts(played) == [f"{make_uuid(8)} Before active Bob Big Bob@Before"]
    assert played.of("run_started")[0]["parent_uuid"] == make_uuid(8)


def test_a_voice_session_is_part_of_a_call() -> None:
    call = {"uuid": make_uuid(76), "channel": refer(CHANNEL), "urn": "tel:+12065559999"}
    played = play(node(0, {"type": "say_msg", "text": "Hi"}), type="voice", call=call)
    assert played.session.to_json()["call"] == call
    spoken = played.of("ivr_created")[0]["msg"]
    assert (spoken["urn"], spoken["locale"]) == ("tel:+12065559999", "eng-US")


def test_resumes_of_generation_13_carry_the_message_itself_and_what_changed() -> None:
    played = play(ask(0, to=1), node(1, say("@contact.name @input.uuid @(format_date(now()))")), **EARLY)
    fresh = {**CONTACT_JSON, "name": "Zoe", "timezone": ""}
    environment = {**ENVIRONMENT.to_json(), "date_format": "DD-MM-YYYY"}
    message = {"uuid": make_uuid(11), **MESSAGE}
    played.wake({"type": "msg", "msg": message, "contact": fresh, "environment": environment})
    assert texts(played) == [f"Zoe {make_uuid(11)} 04-05-2025"]
    assert played.kinds[:3] == ["environment_refreshed", "contact_refreshed", "msg_received"]
