"""Creates the batches of a flow start: a page of contacts at a time, each contact once. A page and the progress of the
start are stored in one transaction that locks the start's row: a worker that dies leaves neither, and two workers never
find the contacts of the same start.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Executable, Select, insert, literal, literal_column, select

from flows.queries import QueryError
from persistence.contacts.audience import SavedAudience
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace
from persistence.flow_starts.batches import end_start, has_pending
from persistence.flow_starts.flow_starts import COMPLETED, FAILED, START_COLUMNS, WAKE, StartRow, take_contacts
from persistence.leases import GIVEN_UP, GOT_ON, Leases
from persistence.runs.runs import ACTIVE, RunState, save_runs
from persistence.sql.columns import new_uuid, split
from persistence.sql.due_work import list_due_workspaces
from persistence.stamps import stamped
from persistence.statements import statement, update
from persistence.tables.contacts import contact
from persistence.tables.flows import (
    IS_UNFINISHED,
    OF_START,
    PENDING,
    QUEUED,
    STARTED,
    flow,
    flow_start,
    flow_start_batch,
    flow_start_contact,
)
from persistence.workspaces.records import find_workspace

logger = logging.getLogger("relayboard.worker")

PAGE = 1000
BATCH = 200
"""Contacts whose sprints are recorded together. Half as many cost a quarter more, twice as many hardly less."""
LEASES = Leases(
    flow_start,
    IS_UNFINISHED & ~flow_start.c.is_expanded,
    *(flow_start.c.modified_on, flow_start.c.last_contact_id, flow_start.c.id),
)


def list_expanding_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with an unfinished start."""
    rows = flow_start.c
    return list_due_workspaces(tx, rows.workspace_id, IS_UNFINISHED, ~rows.is_expanded, rows.modified_on)


def begin_expansion(tx: Transaction, workspace_id: int) -> int | None:
    """The unfinished start that has waited longest for its next page, after this was counted as an attempt; None if no
    start of the workspace has contacts to find."""

    def give_up(tx: Transaction, start_id: int) -> None:
        end_start(tx, workspace_id, start_id, FAILED, GIVEN_UP)

    return LEASES.take_next(tx, workspace_id, give_up)


def lease_start(tx: Transaction, workspace_id: int, start_id: int | None = None) -> StartRow | None:
    """The start that was chosen, or the unfinished start that has waited longest for its next page, with at least the
    status `queued`; its row is locked. None if no start of the workspace has contacts to find.
    """
    # Mostly there is none, and each time of a start holds the clock of its workspace.
    if _find_pending.rows(tx, workspace_id):
        _queue_pending.run(tx, workspace_id, stamped(tx, flow_start, workspace_id))
    found = _lock_next.rows(tx, workspace_id) if start_id is None else _lock_chosen.rows(tx, workspace_id, start_id)
    return StartRow(*found[0]) if found else None


_IS_PENDING = flow_start.c.status == literal(PENDING, literal_execute=True)


@statement
def _find_pending(workspace_id: int) -> Executable:
    mine = flow_start.c.workspace_id == workspace_id
    return select(flow_start.c.id).where(mine, IS_UNFINISHED, _IS_PENDING).limit(literal_column("1"))


@statement
def _queue_pending(workspace_id: int, moment: datetime) -> Executable:
    mine = flow_start.c.workspace_id == workspace_id
    news = {"status": literal(QUEUED), "modified_on": moment}
    return update(flow_start).where(mine, IS_UNFINISHED, _IS_PENDING).values(news)


@statement
def _lock_chosen(workspace_id: int, start_id: int) -> Executable:
    return _lock_waiting(workspace_id).where(flow_start.c.id == start_id)


@statement
def _lock_next(workspace_id: int) -> Executable:
    return _lock_waiting(workspace_id)


def _lock_waiting(workspace_id: int) -> Select[*tuple[Any, ...]]:
    return (
        select(*START_COLUMNS)
        .where(flow_start.c.workspace_id == workspace_id, IS_UNFINISHED, ~flow_start.c.is_expanded)
        # Starts that are queued together get the same time as the first of them that begins.
        .order_by(flow_start.c.modified_on, flow_start.c.last_contact_id, flow_start.c.id)
        .limit(literal_column("1"))
        # Runs of this start are created meanwhile; their foreign key needs the row.
        .with_for_update(skip_locked=True, key_share=True)
    )


def expand_start(tx: Transaction, start: StartRow) -> list[int]:
    """Puts the next page of contacts of a start, whose row is given and locked, into batches; returns these contacts.
    The start becomes `started`, `completed` if it has no contacts, and `failed` if its flow was archived or its query
    is invalid.
    """
    workspace = find_workspace(tx, start.workspace_id)
    assert workspace is not None, "starts belong to a workspace"
    if tx.execute(select(flow.c.is_archived).where(flow.c.id == start.flow_id)).scalar_one():
        end_start(tx, start.workspace_id, start.id, FAILED, "Its flow was archived.")
        return []
    try:
        page = SavedAudience(tx, workspace, OF_START, start.id, start.query).next_page(start.last_contact_id, PAGE)
    except QueryError as error:
        logger.warning("Start %s failed: its query cannot be used: %s", start.uuid, error.message)
        end_start(tx, start.workspace_id, start.id, FAILED, f"Its query cannot be used: {error.message}")
        return []
    taken = take_contacts(tx, start, page.contact_ids)
    batches = [list(some) for some in split(taken, BATCH)]
    _create_batches(tx, start, batches)
    if start.makes_runs and taken:
        _make_runs(tx, start, taken)
    count, batch_count = start.contact_count + len(taken), start.batch_count + len(batches)
    change = {"status": STARTED, "contact_count": count, "batch_count": batch_count, "is_expanded": page.is_end}
    change |= {"last_contact_id": page.last_contact_id} | GOT_ON | ({"total": count} if page.is_end else {})
    mine = (flow_start.c.workspace_id == start.workspace_id) & (flow_start.c.id == start.id)
    tx.execute(update(flow_start).where(mine).values(modified_on=stamped(tx, flow_start, start.workspace_id), **change))
    if page.is_end and not has_pending(tx, start.id):
        end_start(tx, start.workspace_id, start.id, COMPLETED)
    if batches:
        tx.wake(WAKE)
    return list(taken)


def begin_start(tx: Transaction, workspace_id: int, start_id: int) -> None:
    """Finds the first contacts of a new start at once, up to PAGE of them. Raises InvalidInput if there are none, and
    LostRace if a contact in the request was deleted since it was found.
    """
    mine = (flow_start.c.workspace_id == workspace_id) & (flow_start.c.id == start_id)
    taken: list[int] = []
    while not taken:
        start = StartRow(*tx.execute(select(*START_COLUMNS).where(mine)).one())
        if start.is_expanded:
            raise InvalidInput.across("None of these contacts can be started.")
        taken = expand_start(tx, start)
        named = (flow_start_contact.c.start_id == start_id) & contact.c.is_deleted
        if tx.execute(select(contact.c.id).join(flow_start_contact).where(named).limit(1)).first():
            raise LostRace


def _create_batches(tx: Transaction, start: StartRow, batches: Sequence[list[int]]) -> None:
    rows = [
        {
            "workspace_id": start.workspace_id,
            "start_id": start.id,
            "number": start.batch_count + index,
            "contact_ids": contact_ids,
            "status": PENDING,
            "attempts": 0,
            "created_on": tx.now,
        }
        for index, contact_ids in enumerate(batches)
    ]
    if rows:
        tx.execute(insert(flow_start_batch), rows)


def _make_runs(tx: Transaction, start: StartRow, contact_ids: Sequence[int]) -> None:
    """Creates runs that workers will begin later: `active`, without session and path."""
    runs = [
        RunState(new_uuid(), start.flow_id, contact_id, ACTIVE, tx.now, start_id=start.id) for contact_id in contact_ids
    ]
    save_runs(tx, start.workspace_id, runs)
