"""Batches of a flow start: workers lease each batch and run it once, and the start ends with the last batch. A worker
leases a batch, starts its contacts outside of this transaction, records each by itself, and finishes the batch. If the
worker dies, the batch is leased again; `find_started` then says which contacts have their run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, or_, select, update

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.flow_starts.flow_starts import (
    COMPLETED,
    DONE,
    INTERRUPTED,
    START_COLUMNS,
    StartRow,
    list_wishes,
)
from persistence.flow_starts.states import IS_PENDING_BATCH, IS_UNFINISHED
from persistence.runs.runs import IS_OPEN, close_runs
from persistence.sql.columns import BigId
from persistence.sql.due_work import list_due_workspaces
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.stamps import stamped
from persistence.tables.contacts import contact
from persistence.tables.flow_starts import flow_start, flow_start_batch
from persistence.tables.runs import flow_run

LEASE = timedelta(minutes=2)
BUSY_DELAY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class StartBatch:
    """A leased batch with the data of its start. `is_alone` says that the start has only one contact."""

    id: int
    workspace_id: int
    start_id: int
    start_uuid: str
    start_type: str
    flow_id: int
    contact_ids: Sequence[int]
    params: Mapping[str, Any] | None
    parent: Mapping[str, Any] | None
    created_by_id: int | None
    is_alone: bool
    attempts: int
    leased_until: datetime


def list_starting_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a due batch."""
    rows = flow_start_batch.c
    return list_due_workspaces(tx, rows.workspace_id, IS_PENDING_BATCH, _is_free(tx.now), rows.number)


def lease_batch(tx: Transaction, workspace_id: int) -> StartBatch | None:
    """Leases the next batch of a workspace for LEASE; None if none is due. First batches of all starts come before
    second ones.
    """
    rows = flow_start_batch.c
    due = (
        select(rows.id)
        .where(rows.workspace_id == workspace_id, IS_PENDING_BATCH, _is_free(tx.now))
        .order_by(rows.number, rows.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    leased = (
        update(flow_start_batch)
        .where(rows.workspace_id == workspace_id, rows.id == due.scalar_subquery())
        .values(leased_until=tx.now + LEASE, attempts=rows.attempts + 1)
        .returning(rows.id)
    )
    batch_id = tx.execute(leased).scalar_one_or_none()
    return None if batch_id is None else find_batch(tx, workspace_id, batch_id)


def find_batch(tx: Transaction, workspace_id: int, batch_id: int) -> StartBatch | None:
    """An unfinished batch, leased or not."""
    rows, start = flow_start_batch.c, flow_start.c
    of_start = (start.id, start.uuid, start.start_type, start.flow_id)
    given = (rows.contact_ids, start.params, start.parent, start.created_by_id, start.total == 1)
    statement = (
        select(rows.id, rows.workspace_id, *of_start, *given, rows.attempts, rows.leased_until)
        .join(flow_start, (start.workspace_id == rows.workspace_id) & (start.id == rows.start_id))
        .where(rows.workspace_id == workspace_id, rows.id == batch_id, IS_PENDING_BATCH)
    )
    found = tx.execute(statement).first()
    return None if found is None else StartBatch(*found)


def find_started(tx: Transaction, batch: StartBatch) -> set[int]:
    """The contacts of a batch that its start has started already, or whose run was interrupted before."""
    return {contact_id for (contact_id,) in _BEGUN.rows(tx, _its_runs(batch))}


def find_left_out(tx: Transaction, batch: StartBatch) -> set[int]:
    """The contacts of a batch that the start must leave out because other starts came first since they were found."""
    start = StartRow(*tx.execute(select(*START_COLUMNS).where(flow_start.c.id == batch.start_id)).one())
    if start.restart_participants and not start.exclude_active:
        return set()
    mine = (contact.c.workspace_id == batch.workspace_id) & contact.c.id.in_(batch.contact_ids)
    wanted = select(contact.c.id).where(mine, *list_wishes(start))
    return set(batch.contact_ids).difference(tx.execute(wanted).scalars())


def find_made_runs(tx: Transaction, batch: StartBatch) -> dict[int, str]:
    """The UUIDs of the runs that were created ahead for contacts of a batch and have not begun, by contact."""
    return {contact_id: uuid for contact_id, uuid in _MADE.rows(tx, _its_runs(batch))}


def _its_runs(batch: StartBatch) -> dict[str, Any]:
    return {"owner": batch.workspace_id, "start_id": batch.start_id, "theirs": batch.contact_ids}


_OF_BATCH = (
    (flow_run.c.workspace_id == param("owner"))
    & (flow_run.c.start_id == param("start_id", BigId))
    & among(flow_run.c.contact_id, "theirs")
)
_BEGUN = Fixed(
    lambda _is_sqlite: select(flow_run.c.contact_id).where(_OF_BATCH, or_(flow_run.c.session_id.is_not(None), ~IS_OPEN))
)
_MADE = Fixed(
    lambda _is_sqlite: select(flow_run.c.contact_id, flow_run.c.uuid).where(
        _OF_BATCH, flow_run.c.session_id.is_(None), IS_OPEN
    )
)


def finish_batch(tx: Transaction, batch: StartBatch) -> bool:
    """Marks a batch as done, and the start too if it was the last; returns False if the lease was lost. Runs created
    ahead for contacts that could not be started are interrupted.
    """
    mine = (flow_start.c.workspace_id == batch.workspace_id) & (flow_start.c.id == batch.start_id)
    # The start is locked first: of two workers with the last two batches, the second sees that both are done.
    start = tx.execute(select(flow_start).where(mine).with_for_update(key_share=True)).one()
    if not tx.execute(update(flow_start_batch).where(_is_held(batch)).values(status=DONE, leased_until=None)).rowcount:
        return False
    if start.makes_runs:
        left = flow_run.c.session_id.is_(None) & flow_run.c.contact_id.in_(batch.contact_ids)
        _close_made_runs(tx, batch.workspace_id, batch.start_id, left)
    started = start.started + len(batch.contact_ids)
    tx.execute(
        update(flow_start)
        .where(mine, IS_UNFINISHED)
        .values(started=started, modified_on=stamped(tx, flow_start, batch.workspace_id))
    )
    if start.is_expanded and not has_pending(tx, start.id):
        end_start(tx, batch.workspace_id, batch.start_id, COMPLETED)
    return True


def postpone_batch(tx: Transaction, batch: StartBatch) -> None:
    """Schedules a batch again soon, because some of its contacts are leased; this is not a failed attempt."""
    mine = update(flow_start_batch).where(_is_held(batch))
    tx.execute(mine.values(leased_until=tx.now + BUSY_DELAY, attempts=flow_start_batch.c.attempts - 1))


def leave_parked(tx: Transaction, batch: StartBatch) -> None:
    """Schedules a batch again for after its parked contacts have been handled; this is not a failed attempt."""
    mine = update(flow_start_batch).where(_is_held(batch))
    tx.execute(mine.values(leased_until=tx.now + LEASE, attempts=flow_start_batch.c.attempts - 1))


def has_pending(tx: Transaction, start_id: int) -> bool:
    """Whether a start has unfinished batches."""
    pending = (flow_start_batch.c.start_id == start_id) & IS_PENDING_BATCH
    return tx.execute(select(flow_start_batch.c.id).where(pending).limit(1)).first() is not None


def interrupt_start(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """Stops an unfinished start: pending batches are dropped, started contacts stay; returns its id. Raises
    RecordMissing.
    """
    mine = (flow_start.c.workspace_id == workspace_id) & (flow_start.c.uuid == uuid)
    locked = select(flow_start.c.id).where(mine).with_for_update(key_share=True)
    start_id = tx.execute(locked).scalar_one_or_none()
    if start_id is None:
        raise RecordMissing
    end_start(tx, workspace_id, start_id, INTERRUPTED)
    return start_id


def end_start(tx: Transaction, workspace_id: int, start_id: int, status: str) -> None:
    """Ends an unfinished start: pending batches are dropped, and runs that were created ahead and have not begun are
    interrupted."""
    mine = (flow_start.c.workspace_id == workspace_id) & (flow_start.c.id == start_id)
    ending = update(flow_start).where(mine, IS_UNFINISHED)
    if not tx.execute(
        ending.values(status=status, is_expanded=True, modified_on=stamped(tx, flow_start, workspace_id))
    ).rowcount:
        return
    tx.execute(delete(flow_start_batch).where(flow_start_batch.c.start_id == start_id))
    _close_made_runs(tx, workspace_id, start_id, flow_run.c.session_id.is_(None))


def _close_made_runs(tx: Transaction, workspace_id: int, start_id: int, condition: ColumnElement[bool]) -> None:
    close_runs(tx, workspace_id, (flow_run.c.start_id == start_id) & condition)


def _is_free(now: datetime) -> ColumnElement[bool]:
    return or_(flow_start_batch.c.leased_until.is_(None), flow_start_batch.c.leased_until <= now)


def _is_held(batch: StartBatch) -> ColumnElement[bool]:
    rows = flow_start_batch.c
    return (rows.id == batch.id) & (rows.leased_until == batch.leased_until) & IS_PENDING_BATCH
