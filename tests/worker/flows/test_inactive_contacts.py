"""Contacts who are blocked, archived, stopped or deleted take no part in flows, whatever they send."""

import pytest
from sqlalchemy import update

from persistence.tables.contacts import contact
from persistence.tables.flows import flow_run, flow_session
from persistence.tables.messages import message
from persistence.triggers.records import CATCH_ALL, KEYWORD, MISSED_CALL, NEW_CONVERSATION
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.api import Api
from tests.run_rows import uuid_of as uuid_in
from tests.worker.flows.conftest import Stage
from tests.worker.flows.test_conversation import SURVEY
from tests.worker.flows.test_triggers import add_flow, add_trigger

AMINA, BEN = "+254722000111", "+254722000222"


def set_status(stage: Stage, contact_id: int, status: str) -> None:
    with stage.database.writing() as tx:
        tx.execute(update(contact).where(contact.c.id == contact_id).values(status=status))


@pytest.mark.parametrize("status", ["blocked", "archived", "stopped"])
@pytest.mark.parametrize("kind", [KEYWORD, CATCH_ALL, NEW_CONVERSATION, MISSED_CALL])
def test_who_is_not_active_starts_no_flow(stage: Stage, kind: str, status: str) -> None:
    words = ["join"] if kind == KEYWORD else []
    add_trigger(stage.database, stage.workspace, kind, add_flow(stage, "Join"), *words)
    amina = stage.add_contact(AMINA)
    stage.receive(AMINA, "join")
    stage.call(amina, "call-in-missed")
    set_status(stage, amina, status)

    stage.work()

    assert stage.rows(flow_run) == []
    assert [row.folder for row in stage.rows(message)] == ["inbox"]


@pytest.mark.parametrize("action", ["block", "interrupt", "delete"])
def test_actions_end_the_conversation_and_what_was_not_handled_yet_resumes_nothing(
    stage: Stage, api: Api, action: str
) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(flow_uuid, amina)
    stage.work()
    sent = stage.sent_to(amina)
    stage.receive(AMINA, "red")

    body = {"contacts": [uuid_in(stage.database, contact, amina)], "action": action}
    response = api.post("/api/v2/contact_actions.json", body)
    stage.work()

    assert response.status_code == 204, response.text
    counts = api.results("/api/v2/flows.json")[0]["runs"]
    gone = action == "delete"
    assert counts == {"active": 0, "completed": 0, "interrupted": 0 if gone else 1, "expired": 0}
    assert stage.rows(flow_session, flow_session.c.status == "waiting") == []
    assert gone or stage.sent_to(amina) == sent


@pytest.mark.parametrize(
    ("path", "action", "end"),
    [
        ("/api/v1/contact_actions.json", "expire", "expired"),
        ("/api/v1/contact_actions.json", "block", "interrupted"),
        ("/api/v2/contact_actions.json", "interrupt", "interrupted"),
        ("/api/v2/contact_actions.json", "block", "interrupted"),
    ],
)
def test_actions_end_runs_that_were_made_a_moment_before(
    stage: Stage, api: Api, path: str, action: str, end: str
) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina, ben = stage.add_contact(AMINA, "Amina"), stage.add_contact(BEN, "Ben")
    people = [uuid_in(stage.database, contact, each) for each in (amina, ben)]
    assert api.post("/api/v1/runs.json", {"flow_uuid": flow_uuid, "contact": people}).status_code == 201

    assert api.post(path, {"contacts": people[:1], "action": action}).status_code == 204

    ended = api.results("/api/v2/runs.json", contact=people[0])
    assert [run["exit_type"] for run in ended] == [end]
    stage.work()
    assert api.results("/api/v2/runs.json", contact=people[0]) == ended
    assert (stage.sent_to(amina), stage.sent_to(ben) != []) == ([], True)


@pytest.mark.parametrize("says_first", [True, False])
def test_a_flow_that_blocks_its_contact_ends_there_and_says_nothing(stage: Stage, *, says_first: bool) -> None:
    block = {"type": "set_contact_status", "uuid": uuid_of("block"), "status": "blocked"}
    actions = [say("Hm"), block] if says_first else [block, say("Hm")]
    flow_uuid = store_flow(stage.database, stage.workspace, definition("Block", [node("blocking", actions)]))
    amina = stage.add_contact(AMINA)

    stage.start(flow_uuid, amina)
    stage.work()

    (person,) = stage.rows(contact)
    (sent,) = stage.rows(message)
    assert (person.status, sent.status, sent.failed_reason) == ("blocked", "failed", "contact_inactive")
    assert [run.status for run in stage.rows(flow_run)] == ["completed"]


@pytest.mark.parametrize("status", ["blocked", "stopped", "archived"])
def test_a_flow_does_not_wait_for_whom_it_has_put_away(stage: Stage, status: str) -> None:
    put_away = {"type": "set_contact_status", "uuid": uuid_of("put away"), "status": status}
    nodes = [node("putting", [put_away], to="asking"), ask("asking", {}, None)]
    amina = stage.add_contact(AMINA)

    stage.start(store_flow(stage.database, stage.workspace, definition("Away", nodes)), amina)
    stage.work()

    (person,) = stage.rows(contact)
    assert (person.status, person.current_flow_id, person.handling_until) == (status, None, None)
    assert [row.status for row in stage.rows(flow_session)] == ["interrupted"]


def test_an_empty_message_is_not_sent(stage: Stage) -> None:
    nodes = [node("empty", [say("@results.nothing"), say('@("  ")'), say("Something")])]
    amina = stage.add_contact(AMINA)

    stage.start(store_flow(stage.database, stage.workspace, definition("Empty", nodes)), amina)
    stage.work()

    assert stage.sent_to(amina) == ["Something"]
