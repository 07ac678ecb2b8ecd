"""A changed name is noted with the time of the workspace's clock."""

from datetime import datetime
from typing import Any

from sqlalchemy import select

from persistence.database import Database, Transaction
from persistence.stamps import stamped
from persistence.tables.changes import pending_touch
from persistence.tables.contacts import contact
from persistence.tables.service import workspace_clock
from persistence.touches import CONTACT, FLOW, note_renamed
from persistence.workspaces import Workspace

USES = 4
"""The first is sent as text, the later ones are prepared on PostgreSQL."""


def noted(tx: Transaction, workspace: Workspace) -> dict[tuple[str, int], datetime]:
    row = pending_touch.c
    found = select(row.subject, row.record, row.changed_on).where(row.workspace_id == workspace.id)
    return {(subject, record): moment for subject, record, moment in tx.execute(found)}


def clock_of(tx: Transaction, workspace: Workspace) -> datetime:
    clock = workspace_clock.c
    return tx.execute(select(clock.stamped_on).where(clock.workspace_id == workspace.id)).scalar_one()


def test_a_note_has_the_time_of_the_clock_even_if_that_is_ahead(
    database: Database, workspace: Workspace, clock: Any
) -> None:
    moments = []
    for _ in range(USES):
        with database.writing() as tx:
            note_renamed(tx, workspace.id, CONTACT, [7, 8])
            note_renamed(tx, workspace.id, FLOW, [7])
        with database.reading() as tx:
            moments.append(clock_of(tx, workspace))
            assert noted(tx, workspace) == dict.fromkeys([(CONTACT, 7), (CONTACT, 8), (FLOW, 7)], moments[-1])
        clock.advance(hours=-1)

    assert moments == sorted(set(moments))


def test_a_note_after_the_clock_was_read_has_its_time_too(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        note_renamed(tx, workspace.id, CONTACT, [7])
        tx.flush()
        moment = stamped(tx, contact, workspace.id)
        note_renamed(tx, workspace.id, FLOW, [9])

    with database.reading() as tx:
        assert noted(tx, workspace) == {(CONTACT, 7): moment, (FLOW, 9): moment}
        assert clock_of(tx, workspace) == moment


def test_each_workspace_has_a_clock_of_its_own(
    database: Database, workspace: Workspace, other_workspace: Workspace, clock: Any
) -> None:
    with database.writing() as tx:
        note_renamed(tx, other_workspace.id, FLOW, [1])
    clock.advance(hours=-1)

    with database.writing() as tx:
        for each in (workspace, other_workspace):
            note_renamed(tx, each.id, FLOW, [2])

    with database.reading() as tx:
        times = [noted(tx, each)[FLOW, 2] for each in (workspace, other_workspace)]
        assert times == [clock_of(tx, each) for each in (workspace, other_workspace)]
        assert times[0] < times[1]
