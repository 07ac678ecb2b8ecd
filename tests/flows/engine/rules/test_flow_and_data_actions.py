"""Actions that enter flows and keep data, rule by rule (flow format, section 4)."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Assets, Options, start
from tests.flows.engine.playing import ENVIRONMENT, CountingClock, Played, ask, flow, node, play, switch
from tests.flows.hypothesis.workspace import (
    CHILD,
    CONTACT,
    CONTACT_JSON,
    FLOW,
    GROUP,
    LABEL,
    TOPIC,
    USER,
    make_uuid,
    refer,
)

EARLY: dict[str, Any] = {"options": Options(generation=13), "spec_version": "13.2.0"}
ENTER = {"type": "enter_flow", "flow": refer(CHILD), "terminal": False}
GONE = make_uuid(69)
MESSAGE = {"text": "yes", "urn": "tel:+12065551212"}
BY_MESSAGE = {
    "type": "msg",
    "event": {"uuid": make_uuid(7), "type": "msg_received", "created_on": "2025-05-04T12:30:00Z", "msg": MESSAGE},
}


def say(text: str) -> dict[str, Any]:
    return {"type": "send_msg", "text": text}


def texts(played: Played) -> list[str]:
    return [event["msg"]["text"] for event in played.of("msg_created")]


def act(*actions: dict[str, Any], **more: Any) -> Played:
    return play(node(0, *actions), **more)


def codes(played: Played) -> list[str]:
    return [error.get("code", "") for error in played.of("error")]


# Entering flows


def test_the_rest_of_the_actions_runs_before_the_child_and_the_router_after_it() -> None:
    router = switch(0, "@child.status", ("has_only_text", ["completed"], "Done"))
    played = play(
        node(0, ENTER, say("rest"), router=router, to=1),
        node(1, say("after")),
        child=flow(node(200, say("child")), uuid=CHILD),
    )
    assert texts(played) == ["rest", "child", "after"]
    assert played.session.runs[0].results["answer"].category == "Done"


def test_the_actions_of_the_node_are_not_run_again_when_the_child_ends() -> None:
    played = play(node(0, say("once"), ENTER, router=switch(0, "@child.status")), child=flow(ask(200), uuid=CHILD))
    assert texts(played) == ["once"]
    assert texts(played.answer("yes")) == []


def test_the_wait_of_a_node_that_entered_a_flow_is_not_waited_for() -> None:
    router = switch(0, "@child.status", wait={"type": "msg"})
    played = play(node(0, ENTER, router=router), child=flow(node(200), uuid=CHILD))
    assert (played.session.status, played.of("msg_wait")) == ("completed", [])


def test_of_several_flows_the_last_is_entered_even_if_an_earlier_was_for_good() -> None:
    terminal = {**ENTER, "flow": refer(FLOW), "terminal": True}
    played = play(node(0, terminal, ENTER, to=1), node(1, say("after")), child=flow(node(200), uuid=CHILD))
    assert [run.flow["uuid"] for run in played.session.runs] == [FLOW, CHILD]
    assert texts(played) == ["after"]


def test_a_missing_flow_fails_the_session_and_stops_the_node() -> None:
    played = act({**ENTER, "flow": refer(GONE, "Gone")}, say("never"))
    assert (played.session.status, texts(played)) == ("failed", [])
    assert played.of("failure") == [{"text": "Unable to find flow 'Gone'"}]


@pytest.mark.parametrize(
    ("own", "other", "is_fine"),
    [
        ("messaging", "messaging", True),
        ("messaging", "messaging_background", True),
        ("messaging", "voice", False),
        ("messaging", "messaging_offline", False),
        ("voice", "voice", True),
        ("voice", "messaging_background", True),
        ("voice", "messaging", False),
        ("messaging_background", "messaging", False),
    ],
)
def test_a_flow_that_is_entered_is_of_the_sessions_type_or_a_background_one(
    own: str, other: str, is_fine: bool
) -> None:
    played = act(ENTER, type=own, child=flow(node(200), uuid=CHILD, type=other))
    assert played.session.status == ("completed" if is_fine else "failed")


def test_a_flow_entered_for_good_completes_all_runs_so_far_first() -> None:
    middle = flow(node(200, {**ENTER, "flow": refer(make_uuid(71)), "terminal": True}), uuid=CHILD)
    last = flow(ask(300), uuid=make_uuid(71))
    source = {"flows": [flow(node(0, ENTER, to=1), node(1, say("never"))), middle, last]}
    session, events = start(
        Assets.from_json(source),
        CONTACT_JSON,
        {"type": "manual", "flow": refer(FLOW)},
        ENVIRONMENT,
        clock=CountingClock(),
    )
    assert [run.status for run in session.runs] == ["completed", "completed", "waiting"]
    kinds = [event["type"] for event in events]
    assert kinds == ["run_started", "run_started", "run_ended", "run_ended", "run_started", "msg_wait"]


def test_entering_is_told_as_each_generation_does() -> None:
    early = act(ENTER, **EARLY, child=flow(node(200), uuid=CHILD, spec_version="13.2.0"))
    (entered,) = early.of("flow_entered")
    assert entered == {"flow": refer(CHILD), "parent_run_uuid": early.session.runs[0].uuid, "terminal": False}
    played = act(ENTER)
    started = played.of("run_started")[1]
    flow_reference = {**refer(CHILD), "revision": 1}
    run, parent = played.session.runs[1], played.session.runs[0]
    assert started == {"flow": flow_reference, "run_uuid": run.uuid, "parent_uuid": parent.uuid}


# Starting sessions of others

START = {"type": "start_session", "flow": refer(CHILD), "contacts": [refer(CONTACT, "Ann")]}


def test_a_start_tells_recipients_this_run_and_how_it_came_about() -> None:
    save = {"type": "set_run_result", "name": "Size", "value": "XL", "category": "Big"}
    played = act(save, {**START, "exclusions": {"in_a_flow": True}, "groups": [refer(GROUP)]})
    (event,) = played.of("session_triggered")
    run = played.session.runs[0]
    assert (event["flow"], event["groups"], event["contacts"]) == (
        refer(CHILD),
        [refer(GROUP)],
        [refer(CONTACT, "Ann")],
    )
    assert event["exclusions"] == {"in_a_flow": True}
    summary = event["run_summary"]
    assert (summary["uuid"], summary["status"], summary["flow"]["uuid"]) == (run.uuid, "active", FLOW)
    assert summary["contact"] == played.session.contact.to_json()
    assert summary["results"]["size"]["value"] == "XL"
    assert event["history"]["parent_uuid"] == played.session.uuid


def test_a_start_of_a_missing_flow_is_a_dependency_error_and_nothing_else() -> None:
    played = act({**START, "flow": refer(GONE)})
    assert (codes(played), played.of("session_triggered")) == (["dependency:missing"], [])


@pytest.mark.parametrize(
    "part", [{"groups": [refer(GROUP)]}, {"contact_query": "age > 18"}, {"legacy_vars": ["Thing"]}]
)
def test_in_a_batch_groups_and_queries_are_not_started(part: dict[str, Any]) -> None:
    played = act({**START, **part}, trigger={"batch": True})
    assert played.errors == ["Can't start new sessions for groups or queries during batch starts"]
    assert played.of("session_triggered") == []
    assert len(act({**START, **part}).of("session_triggered")) == 1


def test_without_recipients_nothing_is_started_unless_a_contact_is_to_be_made() -> None:
    nobody = {"type": "start_session", "flow": refer(CHILD)}
    assert act(nobody).of("session_triggered") == []
    (event,) = act({**nobody, "create_contact": True}).of("session_triggered")
    assert event["create_contact"] is True


# Results and local variables


@pytest.mark.parametrize(
    ("language", "localized"),
    [("spa", "Grande"), ("eng", "")],
)
def test_a_result_has_its_category_in_the_flows_language_and_the_contacts(language: str, localized: str) -> None:
    save = {"type": "set_run_result", "name": "Size!", "value": '@("XL")', "category": "Big"}
    played = act(save, localization={"spa": {make_uuid(2): {"category": ["Grande"]}}}, contact={"language": language})
    result = played.session.runs[0].results["size_"]
    assert (result.name, result.value, result.category, result.category_localized) == ("Size!", "XL", "Big", localized)
    assert (result.node_uuid, result.input, result.created_on) == (make_uuid(1, 0), "", "2025-05-04T12:30:00.000000Z")


def test_a_result_with_an_expression_in_error_is_not_saved() -> None:
    played = act({"type": "set_run_result", "name": "Size", "value": "XL@(1 / 0)", "category": ""})
    assert (played.session.runs[0].results, played.of("run_result_changed"), len(played.errors)) == ({}, [], 1)


@pytest.mark.parametrize(("value", "category", "count"), [("a", "B", 1), ("b", "B", 2), ("a", "C", 2), ("a", "", 2)])
def test_a_result_is_told_only_if_value_or_category_differ(value: str, category: str, count: int) -> None:
    save = {"type": "set_run_result", "name": "X"}
    played = act({**save, "value": "a", "category": "B"}, {**save, "value": value, "category": category})
    events = played.of("run_result_changed")
    assert len(events) == count
    if count == 2:
        assert events[1]["previous"] == {"value": "a", "category": "B"}


@pytest.mark.parametrize(
    ("before", "by", "after"),
    [("", "1", "1"), ("x", "1", "1"), ("1.5", "2", "2"), (" 4 ", "-6", "-2"), ("9" * 36, "1", "1" + "0" * 36)],
)
def test_counting_goes_by_whole_numbers(before: str, by: str, after: str) -> None:
    count = {"type": "set_run_local", "local": "n"}
    played = act(
        {**count, "operation": "set", "value": before}, {**count, "operation": "increment", "value": f"@({by})"}
    )
    assert played.session.runs[0].locals == {"n": after}
    assert played.kinds[-2:] == ["run_started", "run_ended"]


@pytest.mark.parametrize("by", ["", "x", "1.5", "1e3"])
def test_counting_by_no_whole_number_is_an_error_and_leaves_the_variable(by: str) -> None:
    count = {"type": "set_run_local", "local": "n", "operation": "increment"}
    played = act({**count, "value": "4"}, {**count, "value": by})
    assert (played.session.runs[0].locals, played.errors) == ({"n": "4"}, ["Increment value is not an integer"])


def test_local_variables_belong_to_one_run() -> None:
    keep = {"type": "set_run_local", "local": "n", "operation": "set", "value": "1"}
    child = flow(node(200, say("@(is_error(locals.n))")), uuid=CHILD)
    assert texts(play(node(0, keep, ENTER, to=1), node(1, say("@locals.n")), child=child)) == ["true", "1"]


# Labels and tickets


@pytest.mark.parametrize(
    ("labels", "code", "count"),
    [
        ([refer(LABEL)], [], 1),
        ([{"name_match": 'thin@("g")'}], [], 1),
        ([refer(GONE)], ["dependency:missing"], 0),
        ([{"name_match": "Gone"}], ["label:missing"], 0),
        ([{"name_match": "@(1 / 0)"}], ["expression"], 0),
        ([refer(GONE), refer(LABEL)], ["dependency:missing"], 1),
    ],
)
def test_labels_are_found_or_reported(labels: Any, code: list[str], count: int) -> None:
    played = act({"type": "add_input_labels", "labels": labels}, trigger=BY_MESSAGE)
    assert codes(played) == code
    assert played.of("input_labels_added") == [{"input_uuid": make_uuid(7), "labels": [refer(LABEL)]}] * count


TICKET = {"type": "open_ticket", "note": "Help @contact.first_name"}


def test_a_ticket_has_the_general_topic_unless_another_is_chosen() -> None:
    topics = [refer(make_uuid(65), "Money"), refer(TOPIC, "General")]
    opened = act(TICKET, assets={"topics": topics}).of("ticket_opened")[0]["ticket"]
    assert (opened["topic"], opened["status"]) == (refer(TOPIC, "General"), "open")
    chosen = act({**TICKET, "topic": refer(make_uuid(65))}, assets={"topics": topics}).of("ticket_opened")[0]
    assert chosen["ticket"]["topic"] == refer(make_uuid(65), "Money")


def test_a_ticket_is_opened_with_a_note_and_its_uuid_left_to_the_flow() -> None:
    played = act(TICKET, say("@locals._new_ticket @ticket.uuid"))
    (opened,) = played.of("ticket_opened")
    uuid = opened["ticket"]["uuid"]
    assert played.of("ticket_note_added") == [{"ticket_uuid": uuid, "note": "Help Ann"}]
    assert texts(played) == [f"{uuid} {uuid}"]


@pytest.mark.parametrize("note", ["", '@("")'])
def test_a_ticket_without_a_note_has_none(note: str) -> None:
    played = act({**TICKET, "note": note})
    assert (len(played.of("ticket_opened")), played.of("ticket_note_added")) == (1, [])


def test_an_assignee_is_found_by_its_uuid_alone() -> None:
    played = play(node(0, {**TICKET, "assignee": {"uuid": USER}}))
    assert played.of("ticket_opened")[0]["ticket"]["assignee"]["uuid"] == USER
    assert played.errors == []


def test_with_an_open_ticket_no_other_is_opened_and_with_a_closed_one_it_is() -> None:
    tickets = [{"uuid": make_uuid(50), "status": "open"}]
    played = act(TICKET, contact={"tickets": tickets})
    assert (played.of("ticket_opened"), played.session.runs[0].locals) == ([], {"_new_ticket": ""})
    assert len(act(TICKET, contact={"tickets": [{**tickets[0], "status": "closed"}]}).of("ticket_opened")) == 1


def test_a_missing_topic_is_an_error_and_a_missing_assignee_only_leaves_it_unassigned() -> None:
    played = act({**TICKET, "topic": refer(GONE)})
    assert (codes(played), played.of("ticket_opened")) == (["dependency:missing"], [])
    played = act({**TICKET, "assignee": {"email_match": 'no@("body")@@example.com'}})
    assert codes(played) == ["user:missing"]
    assert "assignee" not in played.of("ticket_opened")[0]["ticket"]
    assert act({**TICKET, "assignee": {"email_match": "ANN@example.com"}}).of("ticket_opened")[0]["ticket"][
        "assignee"
    ] == refer(USER)


@pytest.mark.parametrize(("tickets", "category"), [([], "Success"), ([{"uuid": make_uuid(50)}], "Failure")])
def test_generation_13_leaves_a_ticket_in_a_result(tickets: Any, category: str) -> None:
    action = {"type": "open_ticket", "body": "Help", "result_name": "Told"}
    played = act(action, contact={"tickets": tickets}, **EARLY)
    result = played.session.runs[0].results["told"]
    uuids = [event["ticket"]["uuid"] for event in played.of("ticket_opened")]
    assert (result.value, result.category) == ("".join(uuids), category)
