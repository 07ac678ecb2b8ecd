"""Triggers that match messages and calls (flow format, incoming messages)."""

from typing import Any

import pytest
from sqlalchemy import insert, select

from persistence.database import Database
from persistence.groups.groups import add_members, create_group
from persistence.sql.columns import new_uuid
from persistence.tables.campaigns import trigger, trigger_group
from persistence.tables.channels import channel_event
from persistence.tables.flows import flow, flow_run
from persistence.tables.messages import message
from persistence.triggers.records import CATCH_ALL, INCOMING_CALL, KEYWORD, MISSED_CALL, NEW_CONVERSATION
from persistence.workspaces.records import Workspace
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.worker.flows.conftest import Stage
from worker.flows import incoming
from worker.flows.incoming import begin_calls

AMINA, BEN = "+254722000111", "+254722000222"


def add_flow(stage: Stage, name: str, **fields: Any) -> str:
    # The message that starts a flow answers a question in its first node.
    nodes = [
        node(f"{name} begins", [say(f"This is {name}.")], to=f"{name} asks"),
        ask(f"{name} asks", {"yes": None}, None),
    ]
    return store_flow(stage.database, stage.workspace, definition(name, nodes, **fields))


def add_trigger(
    database: Database, workspace: Workspace, kind: str, flow_uuid: str, *keywords: str, **fields: Any
) -> int:
    with database.writing() as tx:
        flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == flow_uuid)).scalar_one()
        row = {"workspace_id": workspace.id, "uuid": new_uuid(), "type": kind, "flow_id": flow_id}
        times = {"created_on": tx.now, "modified_on": tx.now}
        values = row | {"keywords": list(keywords), "match": "first"} | times | fields
        return int(tx.execute(insert(trigger).values(values).returning(trigger.c.id)).scalar_one())


def test_a_keyword_starts_its_flow_in_any_case(stage: Stage) -> None:
    add_trigger(stage.database, stage.workspace, KEYWORD, add_flow(stage, "Join"), "join")
    amina = stage.add_contact(AMINA)

    stage.receive(AMINA, "JOIN me please")
    stage.work()

    assert stage.sent_to(amina) == ["This is Join."]
    assert [row.folder for row in stage.rows(message, message.c.direction == "in")] == ["flows"]


def test_a_keyword_that_must_stand_alone_does_not_start_with_more_words(stage: Stage) -> None:
    add_trigger(stage.database, stage.workspace, KEYWORD, add_flow(stage, "Join"), "join", match="only")
    amina = stage.add_contact(AMINA)

    stage.receive(AMINA, "join me")
    stage.receive(AMINA, "Join")
    stage.work()

    assert stage.sent_to(amina) == ["This is Join."]
    assert [row.folder for row in stage.rows(message, message.c.direction == "in")] == ["inbox", "flows"]


def test_a_keyword_interrupts_the_flow_that_waits(stage: Stage) -> None:
    add_trigger(stage.database, stage.workspace, KEYWORD, add_flow(stage, "Join"), "join")
    amina = stage.add_contact(AMINA)
    stage.start(add_flow(stage, "Other"), amina)
    stage.work()

    stage.receive(AMINA, "join")
    stage.work()

    assert stage.sent_to(amina) == ["This is Other.", "This is Join."]
    assert [run.status for run in stage.rows(flow_run)] == ["interrupted", "waiting"]


def test_a_catch_all_takes_what_no_flow_and_no_keyword_wants(stage: Stage) -> None:
    add_trigger(stage.database, stage.workspace, CATCH_ALL, add_flow(stage, "Help"))
    amina = stage.add_contact(AMINA)

    stage.receive(AMINA, "whatever")
    stage.receive(AMINA, "yes")
    stage.work()

    assert stage.sent_to(amina) == ["This is Help."]
    assert [run.status for run in stage.rows(flow_run)] == ["completed"]


def test_a_new_conversation_is_told_from_a_later_message(stage: Stage) -> None:
    add_trigger(stage.database, stage.workspace, NEW_CONVERSATION, add_flow(stage, "Welcome"))
    amina = stage.add_contact(AMINA)

    for text in ("hello", "yes", "hello again"):
        stage.receive(AMINA, text)
    stage.work()

    assert stage.sent_to(amina) == ["This is Welcome."]
    assert [row.folder for row in stage.rows(message, message.c.direction == "in")] == ["flows", "flows", "inbox"]


def test_a_conversation_that_a_channel_says_has_begun_begins_once(stage: Stage) -> None:
    amina, ben = stage.add_contact(AMINA), stage.add_contact(BEN)
    stage.call(ben, "new-conversation")
    stage.work()
    add_trigger(stage.database, stage.workspace, NEW_CONVERSATION, add_flow(stage, "Welcome"))

    stage.call(amina, "new-conversation")
    stage.work()
    stage.receive(AMINA, "yes")
    stage.receive(BEN, "hello")
    stage.work()

    assert (stage.sent_to(amina), stage.sent_to(ben)) == (["This is Welcome."], [])
    assert [row.is_pending for row in stage.rows(channel_event)] == [False, False]


def test_the_most_specific_trigger_wins(stage: Stage) -> None:
    add_trigger(stage.database, stage.workspace, KEYWORD, add_flow(stage, "Everybody"), "go")
    members = add_trigger(stage.database, stage.workspace, KEYWORD, add_flow(stage, "Members"), "go")
    amina, ben = stage.add_contact(AMINA), stage.add_contact(BEN)
    with stage.database.writing() as tx:
        group_id = create_group(tx, stage.workspace.id, "Members")
        add_members(tx, stage.workspace.id, group_id, [amina])
        mine = {"workspace_id": stage.workspace.id}
        tx.execute(insert(trigger_group).values({**mine, "trigger_id": members, "group_id": group_id}))

    stage.receive(AMINA, "go")
    stage.receive(BEN, "go")
    stage.work()

    assert stage.sent_to(amina) == ["This is Members."]
    assert stage.sent_to(ben) == ["This is Everybody."]


def test_calls_start_the_flows_of_their_triggers(stage: Stage) -> None:
    add_trigger(stage.database, stage.workspace, MISSED_CALL, add_flow(stage, "Missed"))
    add_trigger(stage.database, stage.workspace, INCOMING_CALL, add_flow(stage, "Taken"))
    amina, ben = stage.add_contact(AMINA), stage.add_contact(BEN)

    stage.call(amina, "call-in-missed")
    stage.call(ben, "call-in")
    stage.work()

    assert (stage.sent_to(amina), stage.sent_to(ben)) == (["This is Missed."], ["This is Taken."])
    assert [row.is_pending for row in stage.rows(channel_event)] == [False, False]


def test_an_archived_trigger_or_flow_starts_nothing(stage: Stage) -> None:
    add_trigger(stage.database, stage.workspace, KEYWORD, add_flow(stage, "Join"), "join", is_archived=True)
    amina = stage.add_contact(AMINA)

    stage.receive(AMINA, "join")
    stage.work()

    assert stage.sent_to(amina) == []


def test_after_a_full_portion_of_calls_without_trigger_there_may_be_more(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming, "PLAIN_BATCH", 1)
    stage.call(stage.add_contact(AMINA), "call-in-missed")
    step = begin_calls(stage.runtime)

    assert [step(), step()] == [True, False]
