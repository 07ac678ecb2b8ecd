"""Flows that change, become invalid or are archived while contacts are in them: no contact is stuck, and nothing is
lost."""

import logging
from typing import Any

import orjson
import pytest
from sqlalchemy import insert, update

from persistence.flow_starts.batches import expand_start, lease_start
from persistence.flows.records import archive_flow
from persistence.sessions.parking import acquire_leases
from persistence.tables.contacts import contact
from persistence.tables.flows import flow, flow_revision, flow_run, flow_session, flow_start
from persistence.tables.messages import message
from persistence.triggers.records import KEYWORD
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.conftest import Clock
from tests.worker.flows.conftest import Stage
from tests.worker.flows.test_triggers import add_trigger
from worker.flows.runner import FlowRunner
from worker.flows.sprints import Task

AMINA = "+254722000111"


def patient(**fields: Any) -> dict[str, Any]:
    question = ask("question", {"yes": "late"}, None, actions=[say("Still there?")], **fields)
    return definition("Patient", [question, node("late", [say("Too late.")])])


def revise(stage: Stage, changed: dict[str, Any] | str) -> None:
    """Stores a new revision of the only flow."""
    (known,) = stage.rows(flow)
    number = known.definition_revision + 1
    text = changed if isinstance(changed, str) else orjson.dumps(changed).decode()
    with stage.database.writing() as tx:
        row = {"workspace_id": stage.workspace.id, "flow_id": known.id, "number": number, "spec_version": "14.0.0"}
        tx.execute(insert(flow_revision).values(definition=text, created_on=tx.now, **row))
        tx.execute(update(flow).where(flow.c.id == known.id).values(definition_revision=number))


def archive(stage: Stage, flow_uuid: str) -> None:
    (found,) = stage.rows(flow, flow.c.uuid == flow_uuid)
    archive_flow(stage.database, stage.workspace.id, found.id)


def check_ended(stage: Stage, status: str) -> None:
    (run,) = stage.rows(flow_run)
    (session,) = stage.rows(flow_session)
    (person,) = stage.rows(contact)
    (known,) = stage.rows(flow)
    assert (run.status, run.exited_on is not None, session.state) == (status, True, None)
    assert (person.current_flow_id, person.handling_until, known.active_run_count) == (None, None, 0)


def test_a_timeout_that_the_flow_no_longer_has_is_forgotten_and_the_wait_goes_on(stage: Stage, clock: Clock) -> None:
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, patient(timeout=(300, "late"))), amina)
    stage.work()
    revise(stage, patient())

    clock.advance(minutes=6)
    stage.work()

    (session,) = stage.rows(flow_session)
    assert (session.status, session.timeout_on) == ("waiting", None)
    stage.receive(AMINA, "yes")
    stage.work()
    check_ended(stage, "completed")


def test_a_wait_for_a_call_that_nobody_makes_expires(stage: Stage, clock: Clock) -> None:
    nodes = [ask("dials", {}, None)]
    nodes[0]["router"]["wait"] = {"type": "dial", "phone": "+254722000333"}
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, definition("Call", nodes, type="voice")), amina)
    stage.work()

    clock.advance(hours=4)
    stage.work()

    check_ended(stage, "expired")


def test_an_answer_to_a_question_that_is_gone_fails_the_run_and_is_kept(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, patient()), amina)
    stage.work()
    revise(stage, definition("Patient", [node("other", [say("Anything else.")])]))

    received_id = stage.receive(AMINA, "yes")
    with caplog.at_level(logging.WARNING, "relayboard.worker"):
        stage.work()

    check_ended(stage, "failed")
    (received,) = stage.rows(message, message.c.id == received_id)
    assert received.status == "handled"
    assert "Unable to find resume node" in caplog.text


def test_an_answer_to_a_flow_that_became_unreadable_fails_the_run(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, patient()), amina)
    stage.work()
    revise(stage, '{"spec_version": "14.0.0"}')

    received_id = stage.receive(AMINA, "yes")
    with caplog.at_level(logging.WARNING, "relayboard.worker"):
        stage.work()

    check_ended(stage, "failed")
    assert [row.status for row in stage.rows(message, message.c.id == received_id)] == ["handled"]
    assert "missing flow asset" in caplog.text


@pytest.mark.parametrize("broken", ['{"spec_version": "14.0.0"}', "no json", "[]", '{"spec_version": "99.0.0"}'])
def test_a_start_of_a_flow_that_cannot_be_read_leaves_failed_runs(
    stage: Stage, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    amina = stage.add_contact(AMINA)
    flow_uuid = store_flow(stage.database, stage.workspace, patient())
    revise(stage, broken)

    start_id = stage.start(flow_uuid, amina)
    with caplog.at_level(logging.WARNING, "relayboard.worker"):
        stage.work()

    (run,) = stage.rows(flow_run)
    (known,) = stage.rows(flow)
    assert (run.status, run.start_id, run.exited_on is not None) == ("failed", start_id, True)
    assert (known.active_run_count, known.interrupted_run_count) == (0, 1)
    assert [row.status for row in stage.rows(flow_start)] == ["completed"]
    assert "not started" in caplog.text or "failed" in caplog.text


def test_a_keyword_of_a_flow_that_cannot_be_read_leaves_its_message_in_the_inbox(stage: Stage) -> None:
    stage.add_contact(AMINA)
    add_trigger(stage.database, stage.workspace, KEYWORD, store_flow(stage.database, stage.workspace, patient()), "go")
    revise(stage, "no json")

    stage.receive(AMINA, "go")
    stage.work()

    assert [row.folder for row in stage.rows(message, message.c.direction == "in")] == ["inbox"]
    assert [row.status for row in stage.rows(flow_run)] == ["failed"]


@pytest.mark.parametrize(
    "state",
    [{}, {"runs": []}, {"uuid": 7}, {"runs": [{"status": "waiting"}]}, {"runs": [{"flow": {}}]}, {"runs": None}, []],
)
def test_a_session_of_an_unknown_shape_fails_and_its_message_is_kept(stage: Stage, state: Any) -> None:
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, patient()), amina)
    stage.work()
    with stage.database.writing() as tx:
        tx.execute(update(flow_session).values(state=state))

    received_id = stage.receive(AMINA, "yes")
    stage.work()

    check_ended(stage, "failed")
    assert [row.status for row in stage.rows(message, message.c.id == received_id)] == ["handled"]


def test_a_start_stops_where_its_flow_is_archived_after_its_contacts_were_found(stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, patient())
    amina = stage.add_contact(AMINA)
    stage.start(flow_uuid, amina)
    with stage.database.writing() as tx:
        expand_start(tx, lease_start(tx, stage.workspace.id))
    archive(stage, flow_uuid)

    stage.work()

    assert stage.sent_to(amina) == []
    assert [row.status for row in stage.rows(flow_start)] == ["failed"]


def test_who_enters_a_flow_while_it_is_archived_does_not_stay_in_it(stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, patient())
    amina = stage.add_contact(AMINA)
    runner = FlowRunner(stage.runtime)
    with stage.database.writing() as tx:
        turns = acquire_leases(tx, [amina])
    with stage.database.reading() as tx:
        scene = runner.open_context(tx, stage.workspace.id, [amina])
    trigger = {"type": "manual", "flow": {"uuid": flow_uuid, "name": "Patient"}, "triggered_on": "2026-03-02T09:00:00Z"}
    archive(stage, flow_uuid)

    runner.perform(scene, turns, [Task(amina, trigger=trigger)])

    check_ended(stage, "interrupted")


def test_a_flow_that_is_archived_is_not_entered_from_another(stage: Stage) -> None:
    child_uuid = store_flow(stage.database, stage.workspace, patient())
    enter = {"type": "enter_flow", "uuid": uuid_of("enter"), "flow": {"uuid": child_uuid, "name": "Patient"}}
    parent_uuid = store_flow(stage.database, stage.workspace, definition("Parent", [node("entering", [enter])]))
    archive(stage, child_uuid)
    amina = stage.add_contact(AMINA)

    stage.start(parent_uuid, amina)
    stage.work()

    assert stage.sent_to(amina) == []
    assert [row.status for row in stage.rows(flow_run)] == ["failed"]
