"""Moves the `modified_on` of what shows a name that changed (`persistence.touches`), a portion in each unit of work. A
portion locks only rows that nobody else has locked, so nobody waits for it in a circle; rows that were locked come with
a later portion, if their time has not moved by then. What a portion has done is committed with it: after a crash the
next one continues.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table, bindparam, case, literal, or_, select, tuple_, update

from persistence.changes import note_changed
from persistence.clock_writes import TICK
from persistence.database import Transaction
from persistence.flow_starts.states import IS_BY_USER
from persistence.messages.states import FAILED, OUTGOING
from persistence.sql.columns import UtcDateTime
from persistence.stamps import later, stamped
from persistence.tables.changes import pending_touch
from persistence.tables.contacts import contact
from persistence.tables.flow_starts import flow_start, flow_start_contact
from persistence.tables.flows import flow
from persistence.tables.messages import (
    broadcast,
    broadcast_contact,
    broadcast_group,
    message,
    template,
    template_translation,
)
from persistence.tables.runs import flow_run
from persistence.tables.stamps import record_stamp
from persistence.tables.tickets import ticket
from persistence.touches import ADDRESS, ALL_FIELDS, CHANNEL, CONTACT, COUNTS, FLOW, GROUP, USER, PendingTouch, Touches

PORTION = 400
"""Records of one kind in one unit of work: on SQLite nobody else writes meanwhile, and a client that follows the
workspace live is not told to load its lists again."""
CONTACTS_AT_ONCE = 50
FLOWS_AT_ONCE = 200
AMPLE = timedelta(seconds=1)
"""How much later than its place on the clock of the workspace the time of a message may be, at the very most."""

_row = pending_touch.c


@dataclass(frozen=True, slots=True)
class One:
    """The columns of one row as values, with which the database finds records in the order of an index."""

    workspace_id: int
    record: int
    changed_on: datetime


Its = Any
"""The changed record: One, or the columns of the rows of several."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Records that show a name: `shows` joins them to the changed record, directly or by the rows of `link`."""

    table: Table
    shows: Callable[[Any], ColumnElement[bool]]
    link: Table | None = None

    def find(self, tx: Transaction, workspace_id: int, rows: Sequence[PendingTouch]) -> list[int]:
        """Some of the records whose time has not moved since these rows' changes, by their ids."""
        its: Its = One(workspace_id, rows[0].record, rows[0].changed_on) if len(rows) == 1 else _row
        found = select(self.table.c.id).where(self.table.c.workspace_id == workspace_id, self.shows(its))
        if self.link is not None:
            found = found.where(self.link.c.workspace_id == workspace_id)
        if len(rows) > 1:
            found = found.where(_row.workspace_id == workspace_id, _row.id.in_([row.id for row in rows]))
        if self.table is flow_start:  # as the index of its list has only these
            found = found.where(IS_BY_USER)
        if self.table is broadcast:
            found = found.where(_is_unmoved_broadcast(workspace_id, its))
        else:
            found = found.where(self.table.c.modified_on < its.changed_on)
        if len(rows) == 1 and self.table is not broadcast:
            found = found.order_by(self.table.c.modified_on, self.table.c.id)
        return list(tx.execute(found.limit(PORTION)).scalars())

    def touch(self, tx: Transaction, workspace_id: int, ids: Collection[int]) -> int:
        """Moves the time of those of these records that nobody has locked; returns how many."""
        if self.table is broadcast:
            note_changed(tx, broadcast, workspace_id, ids)
            return len(ids)
        mine = (self.table.c.workspace_id == workspace_id) & self.table.c.id.in_(sorted(ids))
        free = select(self.table.c.id).where(mine).order_by(self.table.c.id)
        free = free.with_for_update(key_share=True, skip_locked=True)
        moment = stamped(tx, self.table, workspace_id)
        return tx.execute(update(self.table).where(self.table.c.id.in_(free)).values(modified_on=moment)).rowcount


def _is_unmoved_broadcast(workspace_id: int, its: Its) -> ColumnElement[bool]:
    stamps = record_stamp.c
    of_it = (stamps.workspace_id == workspace_id) & (stamps.kind == broadcast.name) & (stamps.record == broadcast.c.id)
    return ~select(stamps.record).where(of_it, stamps.stamped_on >= its.changed_on).exists()


_of_starts, _of_broadcasts, _to_groups = flow_start_contact.c, broadcast_contact.c, broadcast_group.c
_texts = template_translation.c

OF_CONTACT = (
    Shown(contact, lambda its: contact.c.id == its.record),
    Shown(flow_run, lambda its: flow_run.c.contact_id == its.record),
)
SHOWN: dict[str, Sequence[Shown]] = {
    CONTACT: (
        *OF_CONTACT,
        Shown(ticket, lambda its: ticket.c.contact_id == its.record),
        Shown(
            flow_start,
            lambda its: (
                (_of_starts.contact_id == its.record) & _of_starts.is_named & (flow_start.c.id == _of_starts.start_id)
            ),
            flow_start_contact,
        ),
        Shown(
            broadcast,
            lambda its: (
                (_of_broadcasts.contact_id == its.record)
                & _of_broadcasts.is_named
                & (broadcast.c.id == _of_broadcasts.broadcast_id)
            ),
            broadcast_contact,
        ),
    ),
    ADDRESS: OF_CONTACT,
    FLOW: (
        Shown(flow_run, lambda its: flow_run.c.flow_id == its.record),
        Shown(flow_start, lambda its: flow_start.c.flow_id == its.record),
    ),
    GROUP: (
        Shown(
            broadcast,
            lambda its: (
                (_to_groups.group_id == its.record)
                & ~_to_groups.is_excluded
                & (broadcast.c.id == _to_groups.broadcast_id)
            ),
            broadcast_group,
        ),
    ),
    CHANNEL: (
        Shown(
            template,
            lambda its: (_texts.channel_id == its.record) & (template.c.id == _texts.template_id),
            template_translation,
        ),
    ),
    USER: (Shown(ticket, lambda its: or_(ticket.c.assignee_id == its.record, ticket.c.opened_by_id == its.record)),),
    ALL_FIELDS: (Shown(contact, lambda _its: contact.c.is_deleted.is_(False)),),
}
"""What shows the name of each kind of record. Groups of contacts and of starts, labels and topics are not here: the
unit of work that renames one moves the time of what shows it itself."""

MESSAGES: dict[str, Callable[[int], ColumnElement[bool]]] = {
    CONTACT: lambda record: message.c.contact_id == record,
    FLOW: lambda record: message.c.flow_id == record,
    CHANNEL: lambda record: message.c.channel_id == record,
}
"""Whose names messages show. Their own order, by creation, is the only one in which they are found by an index."""


def _read(
    tx: Transaction, which: ColumnElement[bool], *order: ColumnElement[Any], limit: int
) -> Sequence[PendingTouch]:
    columns = (_row[name] for name in PendingTouch._fields)
    return list(map(PendingTouch._make, tx.execute(select(*columns).where(which).order_by(*order).limit(limit))))


def list_touching_workspaces(tx: Transaction) -> list[int]:
    """The workspaces in which a name changed and not all has moved that shows it."""
    return list(tx.execute(select(_row.workspace_id).where(_row.subject != COUNTS).distinct()).scalars())


def list_counting_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with flows whose counts of runs changed."""
    return list(tx.execute(select(_row.workspace_id).where(_row.subject == COUNTS).distinct()).scalars())


def touch_counted_flows(tx: Transaction, workspace_id: int) -> bool:
    """Moves the `modified_on` of flows whose counts of runs changed; returns False: a flow whose counts change all the
    time is moved again only by the next call."""
    mine = (_row.workspace_id == workspace_id) & (_row.subject == COUNTS)
    rows = _read(tx, mine, _row.record, limit=FLOWS_AT_ONCE)
    if rows:
        ids = [row.record for row in rows]
        held = select(flow.c.id).where(flow.c.workspace_id == workspace_id, flow.c.id.in_(ids))
        held = held.order_by(flow.c.id).with_for_update(key_share=True)
        tx.execute(update(flow).where(flow.c.id.in_(held)).values(modified_on=stamped(tx, flow, workspace_id)))
        tx.before_commit(Touches).done(tx, workspace_id, rows)
    return len(rows) == FLOWS_AT_ONCE


def touch_by_contacts(tx: Transaction, workspace_id: int) -> bool:
    """Does a portion for contacts, many together; returns whether it moved anything or came to an end. A contact with
    more messages than a portion has is left to `touch_by_others`.
    """
    for subject in (CONTACT, ADDRESS):
        mine = (_row.workspace_id == workspace_id) & (_row.subject == subject) & _row.pass_on.is_(None)
        rows = _read(tx, mine, _row.id, limit=CONTACTS_AT_ONCE)
        if not rows:
            continue
        moved = _touch_shown(tx, workspace_id, subject, rows)
        if moved is not None:
            return moved > 0
        if subject == CONTACT:
            return _touch_messages_of(tx, workspace_id, rows)
        tx.before_commit(Touches).done(tx, workspace_id, rows)
        return True
    return False


def _touch_messages_of(tx: Transaction, workspace_id: int, rows: Sequence[PendingTouch]) -> bool:
    """Moves all messages of as many of these contacts as a portion allows."""
    theirs: dict[int, list[int]] = {}
    number = 0
    for row in rows:
        found = select(message.c.id).where(message.c.workspace_id == workspace_id, MESSAGES[CONTACT](row.record))
        theirs[row.id] = list(tx.execute(found.limit(PORTION + 1)).scalars())
        number += len(theirs[row.id])
        if number > PORTION:
            break
    touches = tx.before_commit(Touches)
    chosen = [row for row in rows if row.id in theirs]
    if number > PORTION and len(chosen) == 1:
        touches.moved(tx, workspace_id, chosen[0], pass_on=chosen[0].changed_on)
        return True
    chosen = chosen[:-1] if number > PORTION else chosen
    free = _move_messages(tx, workspace_id, [one for row in chosen for one in theirs[row.id]])
    finished = [row for row in chosen if free.issuperset(theirs[row.id])]
    touches.done(tx, workspace_id, finished)
    return bool(finished)


def touch_by_others(tx: Transaction, workspace_id: int) -> int:
    """Does a portion for another changed record, the one with the fewest portions so far; returns how many records it
    moved, at least 1 if it came to an end, 0 if it did nothing."""
    mine = (_row.workspace_id == workspace_id) & (_row.subject != COUNTS)
    is_other = _row.subject.not_in([CONTACT, ADDRESS]) | _row.pass_on.is_not(None)
    rows = _read(tx, mine & is_other, _row.portions, _row.id, limit=1)
    if not rows:
        return 0
    (row,) = rows
    touches = tx.before_commit(Touches)
    moved = _touch_shown(tx, workspace_id, row.subject, [row])
    if moved is not None:
        touches.moved(tx, workspace_id, row)
        return moved
    if row.subject in MESSAGES:
        return _walk(tx, workspace_id, row, touches)
    touches.done(tx, workspace_id, [row])
    return 1


def _touch_shown(tx: Transaction, workspace_id: int, subject: str, rows: Sequence[PendingTouch]) -> int | None:
    """Moves a portion of the records, other than messages, that show the names of these rows; returns how many, 0 if
    all are locked, None if there are none."""
    for shown in SHOWN.get(subject, ()):
        ids = shown.find(tx, workspace_id, rows)
        if ids:
            return shown.touch(tx, workspace_id, ids)
    return None


def _walk(tx: Transaction, workspace_id: int, row: PendingTouch, touches: Touches) -> int:
    """Moves the next portion of messages in the order of their creation, up to the first that is locked; 0 if that is
    the first of all. A name that changed again on the way is followed by another pass.
    """
    pass_on = row.pass_on or row.changed_on
    page = _read_page(tx, workspace_id, row)
    shown = [each for each in page if each.is_shown]
    free = _move_messages(tx, workspace_id, [each.id for each in shown])
    locked = next((index for index, each in enumerate(page) if each.is_shown and each.id not in free), len(page))
    if locked == len(page) < PORTION:
        if pass_on == row.changed_on:
            touches.done(tx, workspace_id, [row])
        else:
            touches.moved(tx, workspace_id, row, pass_on=row.changed_on, reached_on=None, reached_id=None)
        return max(len(free), 1)
    if locked:
        last = page[locked - 1]
        touches.moved(tx, workspace_id, row, pass_on=pass_on, reached_on=last.created_on, reached_id=last.id)
    return max(len(free), 1) if locked else 0


def _move_messages(tx: Transaction, workspace_id: int, ids: Collection[int]) -> set[int]:
    """Moves the times of those of these messages that nobody has locked; returns their ids."""
    columns = message.c
    mine = (columns.workspace_id == workspace_id) & columns.id.in_(sorted(ids))
    held = select(columns.id, columns.direction, columns.status, columns.modified_on).where(mine).order_by(columns.id)
    rows = tx.execute(held.with_for_update(key_share=True, skip_locked=True)).all()
    # The time at which we gave up a message counts when its phone reports later, so it moves as little as possible.
    failed = [row for row in rows if (row.direction, row.status) == (OUTGOING, FAILED)]
    others = [row.id for row in rows if (row.direction, row.status) != (OUTGOING, FAILED)]
    theirs = columns.workspace_id == workspace_id
    if others:
        tx.execute(update(message).where(theirs, columns.id.in_(others)).values(modified_on=later(tx, message)))
    if failed:
        moving = (
            update(message).where(theirs, columns.id == bindparam("its_id")).values(modified_on=bindparam("its_time"))
        )
        tx.execute(moving, [{"its_id": row.id, "its_time": row.modified_on + TICK} for row in failed])
    free = {row.id for row in rows}
    note_changed(tx, message, workspace_id, free)
    return free


class _Place(NamedTuple):
    """A message on the way, and whether it shows the name and has not changed since."""

    id: int
    created_on: datetime
    is_shown: int


def _read_page(tx: Transaction, workspace_id: int, row: PendingTouch) -> list[_Place]:
    """The next messages, of a channel those of all channels: nothing finds its own in an order. Those that changed
    after the name show the new one already, and a channel that has just come gets more of them all the time.
    """
    shows = MESSAGES[row.subject](row.record)
    columns = message.c
    is_shown = shows & (columns.modified_on <= (row.pass_on or row.changed_on) + AMPLE)
    chosen = [columns.workspace_id == workspace_id]
    if row.subject != CHANNEL:
        chosen.append(shows)
    if row.reached_on is not None:
        place = tuple_(literal(row.reached_on, UtcDateTime()), literal(row.reached_id))
        chosen.append(tuple_(columns.created_on, columns.id) > place)
    page = select(columns.id, columns.created_on, case((is_shown, 1), else_=0).label("is_shown")).where(*chosen)
    return list(map(_Place._make, tx.execute(page.order_by(columns.created_on, columns.id).limit(PORTION))))
