"""Contacts that somebody else is changing while something is due for them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from persistence.database import Database, Transaction
from persistence.sessions import parking
from persistence.sessions.parking import acquire_leases, lock_leased
from persistence.workspaces.records import Workspace
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.run_rows import add_people
from tests.waits_for_locks import backend_of, is_awaited
from worker.flows.runner import BatchContext, FlowRunner, run_batch
from worker.flows.sprints import Task
from worker.runtime import Runtime

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


class Due:
    """Something is due for a contact until it was planned."""

    def __init__(self, runtime: Runtime, workspace: Workspace, contact_id: int) -> None:
        self._runner = FlowRunner(runtime)
        self._workspace_id = workspace.id
        self.contact_ids = [contact_id]
        self.planned: list[int] = []

    def find(self, _tx: Transaction, _workspace_id: int, _limit: int) -> list[int]:
        return self.contact_ids

    def plan(self, _tx: Transaction, _context: BatchContext, ids: Sequence[int]) -> tuple[list[Task], None]:
        self.planned += ids
        self.contact_ids = []
        return [], None

    def step(self) -> bool:
        return run_batch(self._runner, self._workspace_id, "incoming", self.find, self.plan)

    def work(self) -> None:
        while self.step():
            pass


@pytest.fixture
def contact_id(database: Database, workspace: Workspace) -> int:
    (made,) = add_people(database, workspace, 1)
    return made


def test_what_is_due_for_a_contact_that_is_just_changed_is_done_when_that_has_ended(
    database: Database, workspace: Workspace, runtime: Runtime, contact_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parking, "AWAIT_MS", int(PATIENCE_SECONDS * 1000))
    due = Due(runtime, workspace, contact_id)

    with ThreadPoolExecutor(1) as threads:
        with database.writing() as changing:
            lock(changing, contact_id)
            holder = backend_of(changing)
            working = threads.submit(due.work)
            wait_until(lambda: is_awaited(database, holder), "the worker to wait for the contact")
            assert due.planned == []
        working.result(PATIENCE_SECONDS)

    assert due.planned == [contact_id]


def test_a_contact_that_is_held_for_long_is_left_to_the_next_sweep(
    database: Database, workspace: Workspace, runtime: Runtime, contact_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parking, "AWAIT_MS", 1)
    due = Due(runtime, workspace, contact_id)

    with database.writing() as changing:
        lock(changing, contact_id)
        due.work()

    assert due.planned == []


def test_a_contact_that_another_worker_has_leased_is_left_to_it(
    database: Database, workspace: Workspace, runtime: Runtime, contact_id: int
) -> None:
    held = database.write(lambda tx: acquire_leases(tx, [contact_id]))
    due = Due(runtime, workspace, contact_id)

    assert due.step(), "it was found, so it is looked for again, and then not found"

    with database.reading() as tx:
        assert [each.id for each in lock_leased(tx, held)] == [contact_id]
    assert due.planned == []


def lock(tx: Transaction, contact_id: int) -> None:
    tx.execute(text("SELECT id FROM contact WHERE id = :id FOR UPDATE"), {"id": contact_id}).one()
