"""Batches of a flow start: how they are created, leased and ended.

A page of contacts becomes batches at a time, each contact once. A page and the progress of the start are stored in one
transaction that locks the start's row: a worker that dies leaves neither, and two workers never find the contacts of
the same start.

A worker leases a batch, starts its contacts outside of this transaction, records each by itself, and finishes the
batch. If the worker dies, the batch is leased again; `find_started` then says which contacts have their run. The start
ends with the last batch.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Executable, Select, delete, exists, insert, literal, literal_column, or_, select

from persistence.contacts.audience import SavedAudience
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace, RecordMissing
from persistence.flow_starts.flow_starts import (
    COMPLETED,
    DONE,
    FAILED,
    INTERRUPTED,
    START_COLUMNS,
    WAKE,
    StartRow,
    list_wishes,
    take_contacts,
)
from persistence.leases import GIVEN_UP, GOT_ON, Leases, is_free, list_due_workspaces
from persistence.runs.runs import ACTIVE, IS_OPEN, RunState, close_runs, save_runs
from persistence.sessions.sessions import interrupt_runs_of_start
from persistence.sql.columns import is_uuid, new_uuid, split
from persistence.sql.names import must_exist
from persistence.stamps import START_DONE, stamped, tell
from persistence.statements import among, statement, update
from persistence.tables.contacts import contact
from persistence.tables.flows import (
    IS_PENDING_BATCH,
    IS_UNFINISHED,
    OF_START,
    PENDING,
    QUEUED,
    STARTED,
    flow,
    flow_run,
    flow_start,
    flow_start_batch,
    flow_start_contact,
)
from persistence.workspaces.records import find_workspace

LEASE = timedelta(minutes=2)
RUNS_AT_ONCE = 500
BUSY_DELAY = timedelta(seconds=1)
LEASES = Leases(flow_start_batch, IS_PENDING_BATCH, flow_start_batch.c.number, flow_start_batch.c.id, lasts=(LEASE,))


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
    return list_due_workspaces(tx, rows.workspace_id, IS_PENDING_BATCH, is_free(rows.leased_until, tx.now), rows.number)


def lease_batch(tx: Transaction, workspace_id: int) -> StartBatch | None:
    """Leases the next batch of a workspace for LEASE; None if none is due. First batches of all starts come before
    second ones.
    """
    batch_id = LEASES.take_next(tx, workspace_id)
    return None if batch_id is None else find_batch(tx, workspace_id, batch_id)


def find_batch(tx: Transaction, workspace_id: int, batch_id: int) -> StartBatch | None:
    """An unfinished batch, leased or not."""
    found = _select_batch.rows(tx, workspace_id, batch_id)
    return StartBatch(*found[0]) if found else None


@statement
def _select_batch(workspace_id: int, batch_id: int) -> Executable:
    rows, start = flow_start_batch.c, flow_start.c
    of_start = (start.id, start.uuid, start.start_type, start.flow_id)
    given = (rows.contact_ids, start.params, start.parent, start.created_by_id, start.total == 1)
    mine = (rows.workspace_id == workspace_id) & (rows.id == batch_id)
    return (
        select(rows.id, rows.workspace_id, *of_start, *given, rows.attempts, rows.leased_until)
        .join(flow_start, (start.workspace_id == rows.workspace_id) & (start.id == rows.start_id))
        .where(mine, IS_PENDING_BATCH)
    )


def find_started(tx: Transaction, batch: StartBatch) -> set[int]:
    """The contacts of a batch that its start has started already, or whose run was interrupted before."""
    rows = _select_begun.rows(tx, batch.workspace_id, batch.start_id, batch.contact_ids)
    return {contact_id for (contact_id,) in rows}


def find_left_out(tx: Transaction, batch: StartBatch) -> set[int]:
    """The contacts of a batch that the start must leave out because other starts came first since they were found."""
    start = StartRow(*_select_start.rows(tx, batch.workspace_id, batch.start_id)[0])
    if start.restart_participants and not start.exclude_active:
        return set()
    mine = (contact.c.workspace_id == batch.workspace_id) & contact.c.id.in_(batch.contact_ids)
    wanted = select(contact.c.id).where(mine, *list_wishes(start))
    return set(batch.contact_ids).difference(tx.execute(wanted).scalars())


def find_made_runs(tx: Transaction, batch: StartBatch) -> dict[int, str]:
    """The UUIDs of the runs that were created ahead for contacts of a batch and have not begun, by contact."""
    rows = _select_made.rows(tx, batch.workspace_id, batch.start_id, batch.contact_ids)
    return {contact_id: uuid for contact_id, uuid in rows}


def _is_of_batch(workspace_id: int, start_id: int, contact_ids: Sequence[int]) -> ColumnElement[bool]:
    rows = flow_run.c
    return (rows.workspace_id == workspace_id) & (rows.start_id == start_id) & among(rows.contact_id, contact_ids)


@statement
def _select_begun(workspace_id: int, start_id: int, contact_ids: Sequence[int]) -> Executable:
    of_batch = _is_of_batch(workspace_id, start_id, contact_ids)
    return select(flow_run.c.contact_id).where(of_batch, or_(flow_run.c.session_id.is_not(None), ~IS_OPEN))


@statement
def _select_made(workspace_id: int, start_id: int, contact_ids: Sequence[int]) -> Executable:
    of_batch = _is_of_batch(workspace_id, start_id, contact_ids)
    return select(flow_run.c.contact_id, flow_run.c.uuid).where(of_batch, flow_run.c.session_id.is_(None), IS_OPEN)


def _is_start(workspace_id: int, start_id: int) -> ColumnElement[bool]:
    return (flow_start.c.workspace_id == workspace_id) & (flow_start.c.id == start_id)


@statement
def _select_start(workspace_id: int, start_id: int) -> Executable:
    return select(*START_COLUMNS).where(_is_start(workspace_id, start_id))


def finish_batch(tx: Transaction, batch: StartBatch) -> bool:
    """Marks a batch as done, and the start too if it was the last; returns False if the lease was lost. Runs created
    ahead for contacts that could not be started are interrupted.
    """
    # The start is locked first: of two workers with the last two batches, the second sees that both are done.
    ((makes_runs, is_expanded),) = _lock_start.rows(tx, batch.workspace_id, batch.start_id)
    if not LEASES.free(tx, [batch.id], batch.leased_until, [batch.workspace_id], status=DONE):
        return False
    if makes_runs:
        left = flow_run.c.session_id.is_(None) & flow_run.c.contact_id.in_(batch.contact_ids)
        _close_made_runs(tx, batch.workspace_id, batch.start_id, left)
    moment = stamped(tx, flow_start, batch.workspace_id)
    _add_started.run(tx, batch.workspace_id, batch.start_id, len(batch.contact_ids), moment)
    if is_expanded and not has_pending(tx, batch.start_id):
        end_start(tx, batch.workspace_id, batch.start_id, COMPLETED)
    return True


def give_up_batch(tx: Transaction, batch: StartBatch) -> None:
    """Finishes a batch that was begun too often, without those of its contacts who are not started."""
    left = len(set(batch.contact_ids) - find_started(tx, batch))
    mine = (flow_start.c.workspace_id == batch.workspace_id) & (flow_start.c.id == batch.start_id)
    tx.execute(update(flow_start).where(mine).values(error=f"{left} contacts were left out. {GIVEN_UP}"))
    finish_batch(tx, batch)


@statement
def _lock_start(workspace_id: int, start_id: int) -> Executable:
    rows = select(flow_start.c.makes_runs, flow_start.c.is_expanded)
    return rows.where(_is_start(workspace_id, start_id)).with_for_update(key_share=True)


@statement
def _add_started(workspace_id: int, start_id: int, number: int, moment: datetime) -> Executable:
    news = {"started": flow_start.c.started + number, "modified_on": moment}
    return update(flow_start).where(_is_start(workspace_id, start_id), IS_UNFINISHED).values(news)


def postpone_batch(tx: Transaction, batch: StartBatch) -> None:
    """Schedules a batch again soon, because some of its contacts are leased; this is not a failed attempt."""
    _keep(tx, batch, BUSY_DELAY)


def leave_parked(tx: Transaction, batch: StartBatch) -> None:
    """Schedules a batch again for after its parked contacts have been handled; this is not a failed attempt."""
    _keep(tx, batch, LEASE)


def has_pending(tx: Transaction, start_id: int) -> bool:
    """Whether a start has unfinished batches."""
    return bool(_find_pending.rows(tx, start_id))


@statement
def _find_pending(start_id: int) -> Executable:
    pending = (flow_start_batch.c.start_id == start_id) & IS_PENDING_BATCH
    return select(flow_start_batch.c.id).where(pending).limit(literal_column("1"))


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


def interrupt_starts(tx: Transaction, workspace_id: int, uuids: Sequence[str], *, ends_runs: bool = False) -> None:
    """Stops starts as `interrupt_start` does; finished ones stay as they are. With `ends_runs` a worker interrupts who
    is in a run of theirs soon after. Raises InvalidInput for an unknown one."""
    wanted = [uuid.lower() for uuid in uuids if is_uuid(uuid)]
    mine = (flow_start.c.workspace_id == workspace_id) & flow_start.c.uuid.in_(wanted)
    held = select(flow_start.c.id, flow_start.c.uuid).where(mine).order_by(flow_start.c.id)
    found = {row.uuid: row.id for row in tx.execute(held.with_for_update(key_share=True))}
    ids = sorted({must_exist(found.get(uuid.lower()), "starts", uuid) for uuid in uuids})
    for start_id in ids:
        end_start(tx, workspace_id, start_id, INTERRUPTED)
    if ends_runs:
        theirs = (flow_start.c.workspace_id == workspace_id) & flow_start.c.id.in_(ids)
        # A batch that is at work now may bring runs for as long as its lease.
        tx.execute(update(flow_start).where(theirs).values(ends_runs_until=tx.now + LEASE))
        tx.wake(WAKE)


def list_ending_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with starts whose runs are interrupted; there are few."""
    ending = flow_start.c.ends_runs_until.is_not(None)
    return list(tx.execute(select(flow_start.c.workspace_id).where(ending).distinct()).scalars())


def end_next_runs(tx: Transaction, workspace_id: int) -> bool:
    """Interrupts some of the runs of a start whose runs were interrupted; returns whether there may be more. It can be
    done by several workers and repeated."""
    rows, runs = flow_start.c, flow_run.c
    ending = (rows.workspace_id == workspace_id) & rows.ends_runs_until.is_not(None)
    has_open = exists(select(runs.id).where(runs.flow_id == rows.flow_id, runs.start_id == rows.id, IS_OPEN))
    row = tx.execute(select(rows.id, rows.flow_id).where(ending, has_open).order_by(rows.id).limit(1)).first()
    if row is not None:
        interrupt_runs_of_start(tx, workspace_id, row.flow_id, row.id, RUNS_AT_ONCE)
        return True
    tx.execute(update(flow_start).where(ending, rows.ends_runs_until <= tx.now).values(ends_runs_until=None))
    return False


def end_start(tx: Transaction, workspace_id: int, start_id: int, status: str, error: str | None = None) -> None:
    """Ends an unfinished start: pending batches are dropped, and runs that were created ahead and have not begun are
    interrupted. `error` says why it failed."""
    mine = (flow_start.c.workspace_id == workspace_id) & (flow_start.c.id == start_id)
    ending = update(flow_start).where(mine, IS_UNFINISHED)
    if not tx.execute(
        ending.values(
            status=status,
            is_expanded=True,
            modified_on=stamped(tx, flow_start, workspace_id),
            **({} if error is None else {"error": error}),
        )
    ).rowcount:
        return
    tell(tx, workspace_id, START_DONE, [start_id])
    tx.execute(delete(flow_start_batch).where(flow_start_batch.c.start_id == start_id))
    _close_made_runs(tx, workspace_id, start_id, flow_run.c.session_id.is_(None))


def _close_made_runs(tx: Transaction, workspace_id: int, start_id: int, condition: ColumnElement[bool]) -> None:
    close_runs(tx, workspace_id, (flow_run.c.start_id == start_id) & condition)


def _keep(tx: Transaction, batch: StartBatch, time: timedelta) -> None:
    until = tx.now + time
    LEASES.keep(tx, [batch.id], batch.leased_until, until, [batch.workspace_id], was_tried=False)


logger = logging.getLogger("relayboard.worker")

PAGE = 1000
BATCH = 200
"""Contacts whose sprints are recorded together. Half as many cost a quarter more, twice as many hardly less."""
EXPANSIONS = Leases(
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

    return EXPANSIONS.take_next(tx, workspace_id, give_up)


def lease_start(tx: Transaction, workspace_id: int, start_id: int | None = None) -> StartRow | None:
    """The start that was chosen, or the unfinished start that has waited longest for its next page, with at least the
    status `queued`; its row is locked. None if no start of the workspace has contacts to find.
    """
    # Mostly there is none, and each time of a start holds the clock of its workspace.
    if _find_unexpanded.rows(tx, workspace_id):
        _queue_pending.run(tx, workspace_id, stamped(tx, flow_start, workspace_id))
    found = _lock_next.rows(tx, workspace_id) if start_id is None else _lock_chosen.rows(tx, workspace_id, start_id)
    return StartRow(*found[0]) if found else None


_IS_PENDING = flow_start.c.status == literal(PENDING, literal_execute=True)


@statement
def _find_unexpanded(workspace_id: int) -> Executable:
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
    from flows.queries import QueryError  # noqa: PLC0415  # whoever interrupts starts reads no queries

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
