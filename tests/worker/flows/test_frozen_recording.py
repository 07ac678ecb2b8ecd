"""A worker that is frozen, or whose network is cut, while it records its answers: each contact is answered once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from persistence.database import Transaction
from persistence.messages.incoming import finish_messages
from persistence.sessions.parking import LEASE
from persistence.tables.flows import flow
from persistence.triggers.records import CATCH_ALL, NewTrigger, create_trigger
from testbed.flow_rows import definition, node, say, store_flow
from testbed.running import wait_until
from tests.conftest import Clock
from tests.worker.flows.conftest import Stage
from worker.flows import recording
from worker.flows.incoming import begin_incoming

PHONE = "+250788000001"


@pytest.fixture
def contact(stage: Stage) -> int:
    """A contact who has written what a flow answers."""
    uuid = store_flow(stage.database, stage.workspace, definition("greet", [node("greet", [say("Welcome!")])]))
    with stage.database.writing() as tx:
        flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == uuid)).scalar_one()
        create_trigger(tx, stage.workspace.id, NewTrigger(CATCH_ALL, flow_id))
    contact_id = stage.add_contact(PHONE)
    stage.receive(PHONE, "Hello")
    return contact_id


@pytest.mark.parametrize("is_committed", [True, False])
def test_who_never_heard_of_the_commit_does_not_answer_again(
    stage: Stage, contact: int, clock: Clock, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    write = stage.database.write
    cut = ["once"]

    def write_or_be_cut_off(work: Callable[[Transaction], Any]) -> Any:
        if "record_all" in getattr(work, "__qualname__", "") and cut:
            cut.clear()
            if is_committed:
                write(work)
            raise OperationalError(None, None, Exception("the connection is closed"), connection_invalidated=True)
        return write(work)

    monkeypatch.setattr(stage.database, "write", write_or_be_cut_off)
    with pytest.raises(OperationalError):
        stage.work()
    assert stage.sent_to(contact) == (["Welcome!"] if is_committed else [])
    clock.advance(seconds=LEASE.total_seconds() + 1)
    stage.work()

    assert stage.sent_to(contact) == ["Welcome!"]


def is_connected(stage: Stage, pid: int) -> bool:
    with stage.database.reading() as tx:
        return bool(tx.execute(text("SELECT 1 FROM pg_stat_activity WHERE pid = :pid"), {"pid": pid}).first())


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("has_other", [True, False])
def test_whose_transaction_was_ended_answers_unless_another_worker_has(
    stage: Stage, contact: int, clock: Clock, monkeypatch: pytest.MonkeyPatch, has_other: bool
) -> None:
    frozen, answered = ["once"], list[str]()
    other = begin_incoming(replace(stage.runtime, closing=type(stage.runtime.closing)()))

    def stand_still(tx: Transaction, *arguments: Any) -> None:
        if frozen:
            frozen.clear()
            tx.flush()
            tx.connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = '100ms'")
            mine = tx.connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            wait_until(lambda: not is_connected(stage, mine), "the server to end the transaction")
            if has_other:
                clock.advance(seconds=LEASE.total_seconds() + 1)
                other()
                answered.extend(stage.sent_to(contact))
        finish_messages(tx, *arguments)

    monkeypatch.setattr(recording, "finish_messages", stand_still)
    stage.work()

    assert stage.sent_to(contact) == ["Welcome!"]
    assert answered == (["Welcome!"] if has_other else [])
