"""Jobs with the data of a workspace: which one a worker has, and until when."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from persistence.data_jobs import LeaseLost, keep, take, take_next
from persistence.database import Database
from persistence.tables.data_jobs import export
from persistence.workspaces.records import Workspace


def add_exports(database: Database, workspace: Workspace, number: int) -> list[int]:
    """Exports that no worker has; returns their ids."""
    with database.writing() as tx:
        row = {"type": "contacts", "format": "csv", "filters": {}, "status": "pending", "created_on": tx.now}
        return [tx.insert(export, workspace_id=workspace.id, **row) for _ in range(number)]


def test_the_job_that_is_asked_for_is_taken_once(database: Database, workspace: Workspace) -> None:
    ids = add_exports(database, workspace, 3)
    with database.writing() as tx:
        taken = take(tx, export, workspace.id, ids[1])
        again = take(tx, export, workspace.id, ids[1])
        others = [take_next(tx, workspace.id) for _ in range(3)]

    assert taken is not None
    assert (taken.row.id, again) == (ids[1], None)
    assert [None if each is None else each.row.id for each in others] == [ids[0], ids[2], None]


def test_a_job_of_another_workspace_is_not_taken(
    database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    (job_id,) = add_exports(database, workspace, 1)
    with database.writing() as tx:
        assert take(tx, export, other_workspace.id, job_id) is None
        assert take_next(tx, other_workspace.id) is None


def test_progress_is_stored_only_under_the_own_lease(database: Database, workspace: Workspace) -> None:
    (job_id,) = add_exports(database, workspace, 1)
    with database.writing() as tx:
        held = take(tx, export, workspace.id, job_id)
        assert held is not None
        held.until = keep(tx, held, record_count=3)
        tx.execute(update(export).values(leased_until=held.until + timedelta(seconds=1)))
        with pytest.raises(LeaseLost):
            keep(tx, held, record_count=4)
        assert tx.execute(select(export.c.record_count)).scalar_one() == 3
