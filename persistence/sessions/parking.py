"""Parking: contacts whose sprints may call other systems wait until a slot is free, so that they delay only each other.
A parked contact is found by its row here, not by its due messages or waits. The row is deleted when the contact is
leased: if the worker dies, the lease expires, and the due work is found again as usual.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    Table,
    delete,
    exists,
    literal,
    literal_column,
    select,
    true,
    union_all,
)

from persistence.contacts.leases import ContactLeases, acquire_leases, put_back
from persistence.database import Transaction
from persistence.leases import is_free
from persistence.sql.columns import UtcDateTime
from persistence.sql.due_work import has_row, list_receivers
from persistence.statements import execute_kept, param, update
from persistence.tables.contacts import contact
from persistence.tables.flows import PENDING, flow_session, flow_start_batch, parked_sprint

WAKE = "parked"
STARTS = "starts"
"""The kind of contacts that wait to be started. They do not block the contact's messages."""

WAITING = "waiting"
_WAITING_WORD: BindParameter[Any] = literal(WAITING, literal_execute=True)
IS_WAITING: ColumnElement[bool] = flow_session.c.status == _WAITING_WORD
"""The condition of partial indexes, repeated in statements: SQLite uses such an index only if the statement contains
it."""


@dataclass(frozen=True, slots=True)
class ParkedSprint:
    """A contact that leaves the parking; `kind` is the job that found it, `receiver` the flow, `batch_id` the batch
    of a start."""

    workspace_id: int
    contact_id: int
    kind: str
    receiver: str
    batch_id: int | None


def find_free_contacts(
    tx: Transaction,
    workspace_id: int,
    table: Table,
    waits: ColumnElement[bool],
    since: ColumnElement[Any],
    limit: int,
    *is_due: ColumnElement[bool],
) -> list[int]:
    """Contacts with due rows of the table, those due longest first, without those that are leased or parked for a
    message or the end of a wait. `waits` is the condition of a partial index, an object that exists once.
    """
    rows, parked, now = table.c, parked_sprint.c, param("now", UtcDateTime)
    conditions = [rows.workspace_id == workspace_id, *is_due]

    def build() -> Select[int]:
        # By seeks for each due row, in their order: a join would begin at contacts while PostgreSQL takes them for few.
        theirs = (contact.c.workspace_id == rows.workspace_id) & (contact.c.id == rows.contact_id)
        free = select(literal(1)).where(theirs, is_free(contact.c.handling_until, now)).correlate(table)
        held = (parked.workspace_id == rows.workspace_id) & (parked.contact_id == rows.contact_id)
        blocked = select(literal(1)).where(held, parked.kind != literal_column(f"'{STARTS}'")).correlate(table)
        found = select(rows.contact_id).where(waits, *conditions, has_row(free), ~has_row(blocked))
        return found.order_by(since, rows.id).limit(limit)

    found = execute_kept(tx, (table, waits, since), ("free", limit), conditions, build, {"now": tx.now})
    return list(dict.fromkeys(contact_id for (contact_id,) in found))


def park(
    tx: Transaction, workspace_id: int, kind: str, receivers: Mapping[int, str], batch_id: int | None = None
) -> None:
    """Parks contacts, each with its receiver; contacts that are parked already are not changed."""
    rows = [
        {
            "workspace_id": workspace_id,
            "contact_id": contact_id,
            "kind": kind,
            "receiver": receiver,
            "batch_id": batch_id,
            "parked_on": tx.now,
        }
        for contact_id, receiver in sorted(receivers.items())
    ]
    if rows:
        tx.execute(tx.upsert(parked_sprint).on_conflict_do_nothing(), rows)
        tx.wake(WAKE)


def park_leased(
    tx: Transaction, workspace_id: int, kind: str, leases: ContactLeases, receivers: Mapping[int, str]
) -> None:
    """Parks contacts that are leased and ends their leases, under which nothing was tried."""
    park(tx, workspace_id, kind, receivers)
    put_back(tx, ContactLeases(frozenset(receivers), leases.until))


def list_parked_receivers(tx: Transaction) -> list[tuple[int, str]]:
    """The workspaces and receivers that have parked contacts."""
    rows = parked_sprint.c
    return list_receivers(tx, rows.workspace_id, rows.receiver, true(), true(), rows.id)


def take_parked(
    tx: Transaction, rooms: Mapping[tuple[int, str], int], *, may_try_last: bool = True
) -> tuple[list[ParkedSprint], ContactLeases]:
    """Leases the contacts parked longest that are not leased, up to a number per workspace and receiver, and removes
    them from the parking. A contact that is parked twice is taken once.
    """
    picks = [_pick(tx, workspace_id, receiver, room) for (workspace_id, receiver), room in rooms.items() if room > 0]
    if not picks:
        return [], acquire_leases(tx, ())
    rows = parked_sprint.c
    due = select(parked_sprint).where(rows.id.in_(union_all(*picks))).order_by(rows.id)
    found: dict[int, tuple[int, ParkedSprint]] = {}
    for row in tx.execute(due.with_for_update(skip_locked=True)):
        sprint = ParkedSprint(row.workspace_id, row.contact_id, row.kind, row.receiver, row.batch_id)
        found.setdefault(row.contact_id, (row.id, sprint))
    leases = acquire_leases(tx, found.keys(), may_try_last=may_try_last)
    taken = [(row_id, each) for row_id, each in found.values() if each.contact_id in leases.contact_ids]
    for workspace_id in sorted({each.workspace_id for _, each in taken}):
        ids = [row_id for row_id, each in taken if each.workspace_id == workspace_id]
        tx.execute(delete(parked_sprint).where(rows.workspace_id == workspace_id, rows.id.in_(ids)))
    return [each for _, each in taken], leases


def recall_batches(tx: Transaction, workspace_id: int, batch_ids: Sequence[int]) -> None:
    """Makes batches of starts due again that have no parked contacts any more."""
    rows, parked = flow_start_batch.c, parked_sprint.c
    waits = exists().where(parked.workspace_id == workspace_id, parked.batch_id == rows.id)
    mine = (rows.workspace_id == workspace_id) & rows.id.in_(sorted(batch_ids)) & (rows.status == PENDING)
    if tx.execute(update(flow_start_batch).where(mine, ~waits).values(leased_until=None)).rowcount:
        tx.wake(STARTS)


def _pick(tx: Transaction, workspace_id: int, receiver: str, room: int) -> Select[int]:
    one = parked_sprint.alias()
    theirs = (one.c.workspace_id == workspace_id) & (one.c.receiver == receiver)
    free = (
        select(one.c.id)
        .join(contact, (contact.c.id == one.c.contact_id) & (contact.c.workspace_id == one.c.workspace_id))
        .where(theirs, is_free(contact.c.handling_until, tx.now))
    )
    return select(free.order_by(one.c.id).limit(room).subquery().c.id)
