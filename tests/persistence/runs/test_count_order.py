"""Flows' counts of runs are changed last and in one order, to avoid deadlock."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from persistence.database import Database, Transaction
from persistence.runs.runs import ACTIVE, RunState, save_runs
from persistence.sessions.sessions import interrupt_contacts
from persistence.sql.columns import new_uuid
from persistence.workspaces.records import Workspace
from tests.run_rows import add_flow, add_people, add_waiting, status_counts

MEETING_SECONDS = 1.0


@pytest.fixture
def flows(database: Database, workspace: Workspace) -> list[int]:
    return [add_flow(database, workspace, name) for name in ("First", "Second")]


def meet(barrier: threading.Barrier) -> None:
    """Waits for the other thread; on SQLite, where one writes at a time, there is none to wait for."""
    with contextlib.suppress(threading.BrokenBarrierError):
        barrier.wait(MEETING_SECONDS)


def test_contacts_change_places_in_two_flows_at_once(
    database: Database, workspace: Workspace, flows: list[int]
) -> None:
    amina, ben = add_people(database, workspace, 2)
    add_waiting(database, workspace, flows[0], amina)
    add_waiting(database, workspace, flows[1], ben)
    barrier = threading.Barrier(2)

    def move(tx: Transaction, contact_id: int, flow_id: int) -> None:
        interrupt_contacts(tx, workspace.id, [contact_id])
        meet(barrier)
        run = RunState(new_uuid(), flow_id, contact_id, ACTIVE, tx.now)
        save_runs(tx, workspace.id, [run])

    def move_once(contact_id: int, flow_id: int) -> None:
        with database.writing() as tx:  # a second try would hide a deadlock
            move(tx, contact_id, flow_id)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(move_once, (amina, ben), (flows[1], flows[0])))

    assert [status_counts(database, each) for each in flows] == [{"active": 1, "interrupted": 1}] * 2


def test_a_unit_of_work_that_fails_counts_nothing(database: Database, workspace: Workspace, flows: list[int]) -> None:
    (amina,) = add_people(database, workspace, 1)
    add_waiting(database, workspace, flows[0], amina)

    def interrupt_and_fail(tx: Transaction) -> None:
        interrupt_contacts(tx, workspace.id, [amina])
        raise LookupError

    with pytest.raises(LookupError):
        database.write(interrupt_and_fail)

    assert status_counts(database, flows[0]) == {"active": 1}
