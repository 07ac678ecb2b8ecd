"""The bulk actions on messages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    delete,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

from persistence.changes import note_changed, note_messages, note_moved
from persistence.conversations.writes import Unread
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace
from persistence.labels import change_count, hold_messages, recount_after
from persistence.media.media import note_former_owners
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.messages.states import FAILED, INCOMING, OUTGOING, RESENT, UNCERTAIN, WIRED
from persistence.sql.columns import NO_ID, is_uuid, read_id
from persistence.sql.due_work import beside_index
from persistence.sql.names import find_ids
from persistence.stamps import later, moved_on
from persistence.statements import among, insert_rows, statement
from persistence.tables.messages import ARCHIVED, DELETED, VISIBLE, label, message, message_label

"""The parameter with the UUIDs of messages, in statements that also take those."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The existing messages of an action, and the references without a message."""

    ids: list[int]
    missing: list[int | str]


def select_incoming(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], *, ignore_outgoing: bool = False
) -> Selection:
    """Incoming messages by integer id or UUID, locked until the transaction ends; one statement. Raises InvalidInput
    for an outgoing one, unless they are to be ignored (v1).
    """
    ids, uuids = _named_by(references)
    found: dict[int | str, tuple[int, str]] = {}
    for message_id, uuid, direction in _lock_named.rows(tx, workspace_id, ids, uuids, by_uuid=bool(uuids)):
        found[message_id] = found[uuid] = (message_id, direction)
    incoming: list[int] = []
    missing: list[int | str] = []
    for reference in references:
        known = found.get(int(reference) if _is_number(reference) else str(reference).lower())
        if known is None:
            missing.append(reference)
            continue
        message_id, direction = known
        if direction != OUTGOING:
            incoming.append(message_id)
        elif not ignore_outgoing:
            raise InvalidInput.on("messages", f"Message {reference} is not incoming.")
    return Selection(list(dict.fromkeys(incoming)), missing)


def _named_by(references: Sequence[int | str]) -> tuple[list[int], list[str]]:
    """The ids and UUIDs among references."""
    numbers: set[int] = set()
    uuids: set[str] = set()
    for reference in references:
        if _is_number(reference):
            numbers.add(int(reference))
        elif is_uuid(str(reference)):
            uuids.add(str(reference).lower())
    return sorted(numbers), sorted(uuids)


def _is_number(reference: int | str) -> bool:
    text = str(reference)
    return text.isascii() and text.isdecimal() and len(text) <= 10 and read_id(text) != NO_ID


def add_label(
    tx: Transaction, workspace_id: int, message_ids: Sequence[int], label_id: int, *, may_be_gone: bool = False
) -> None:
    """Label messages; those that have the label already are not changed. Raises LostRace if one was deleted since the
    caller selected it, unless they `may_be_gone`.
    """
    rows = _lock_living.rows(tx, workspace_id, message_ids)
    if len(rows) < len(message_ids) and not may_be_gone:
        raise LostRace
    links = [
        {"workspace_id": workspace_id, "message_id": number, "label_id": label_id, "created_on": created_on}
        for number, created_on, _ in rows
    ]
    if not links:
        return
    added = {message_id for (message_id,) in _insert_labels.rows(tx, links)}
    visible = sum(1 for message_id, _, visibility in rows if message_id in added and visibility == VISIBLE)
    change_count(tx, workspace_id, label_id, visible)
    _touch(tx, workspace_id, sorted(added))


def label_incoming(tx: Transaction, workspace_id: int, labeled: Mapping[str, Sequence[str]]) -> None:
    """Labels messages, all of a label at once, given their UUIDs by the UUID of the label; deleted ones are skipped."""
    label_ids = find_ids(tx, workspace_id, label, labeled)
    for uuid, label_id in sorted(label_ids.items(), key=lambda item: item[1]):
        message_ids = sorted(find_ids(tx, workspace_id, message, labeled[uuid]).values())
        add_label(tx, workspace_id, message_ids, label_id, may_be_gone=True)


def remove_label(tx: Transaction, workspace_id: int, message_ids: Sequence[int], label_id: int) -> None:
    """Remove a label from messages."""
    links = message_label.c
    _hold(tx, workspace_id, message_ids)
    statement = delete(message_label).where(links.label_id == label_id, links.message_id.in_(message_ids))
    removed = list(tx.execute(statement.returning(links.message_id)).scalars())
    rows = _lock_living.rows(tx, workspace_id, removed)
    change_count(tx, workspace_id, label_id, -sum(1 for _, _, visibility in rows if visibility == VISIBLE))
    _touch(tx, workspace_id, removed)


def archive_messages(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], *, ignore_outgoing: bool = False
) -> list[int | str]:
    """Visible messages become archived; labels no longer count them. Returns the references without a message, and
    raises InvalidInput as `select_incoming` does; so do the other two.
    """
    return _move(tx, workspace_id, references, _Move(VISIBLE, ARCHIVED, -1, Unread.FEWER), ignore_outgoing)


def restore_messages(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], *, ignore_outgoing: bool = False
) -> list[int | str]:
    """Archived messages become visible again."""
    return _move(tx, workspace_id, references, _Move(ARCHIVED, VISIBLE, 1, Unread.CHANGED), ignore_outgoing)


def delete_messages(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], *, ignore_outgoing: bool = False
) -> list[int | str]:
    """Delete messages: their content and labels go, the record stays as `deleted`."""
    chosen = select_incoming(tx, workspace_id, references, ignore_outgoing=ignore_outgoing)
    theirs = _mine(workspace_id, chosen.ids)
    _hold(tx, workspace_id, chosen.ids)
    note_former_owners(tx, workspace_id, theirs)
    recount_after(tx, workspace_id, theirs & (message.c.visibility == VISIBLE), -1)
    tx.execute(delete(message_label).where(message_label.c.message_id.in_(chosen.ids)))
    emptied: dict[str, Any] = {"text": "", "attachments": [], "quick_replies": []}
    tx.execute(update(message).where(theirs).values(visibility=DELETED, modified_on=later(tx, message), **emptied))
    note_messages(tx, workspace_id, chosen.ids)
    return chosen.missing


@dataclass(frozen=True, slots=True)
class _Move:
    """From one visibility to another: what it adds to the counts of labels, and what it does to the unread ones."""

    old: str
    new: str
    counts: int
    unread: Unread


def _move(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], move: _Move, ignore_outgoing: bool
) -> list[int | str]:
    ids, uuids = _named_by(references)
    news = (move.old, move.new, tx.now)
    moved = [] if tx.sqlite else [*_move_named.rows(tx, workspace_id, ids, uuids, *news, by_uuid=bool(uuids))]
    missing: list[int | str] = []
    # Each reference names one message at most: if as many have moved, nothing is missing.
    if len(moved) < len({str(reference) for reference in references}):
        chosen = select_incoming(tx, workspace_id, references, ignore_outgoing=ignore_outgoing)
        missing = chosen.missing
        others = sorted(set(chosen.ids) - {number for number, _, _ in moved})
        moved += _move_held.rows(tx, workspace_id, others, *news) if others else []
    labeled = [int(label_id) for _, _, labels in moved if labels for label_id in labels.split(",")]
    if labeled:
        for label_id, number in sorted(Counter(labeled).items()):
            change_count(tx, workspace_id, label_id, move.counts * number)
    note_moved(tx, workspace_id, {number: contact_id for number, contact_id, _ in moved}, move.unread)
    return missing


def resend_messages(tx: Transaction, workspace_id: int, references: Sequence[int | str]) -> list[int | str]:
    """Sends messages again that failed, or of which nobody knows whether they were sent: each as a message of its own,
    and once. Returns the references without a message. Raises InvalidInput for one that cannot be sent again.
    """
    (ids, uuids), rows = _named_by(references), message.c
    these = rows.id.in_(ids) | rows.uuid.in_(uuids)
    columns = (rows.id, rows.uuid, rows.direction, rows.status, rows.failed_reason)
    content = (rows.contact_id, rows.text, rows.attachments, rows.quick_replies)
    found = tx.execute(_holding([*columns, *content], rows.workspace_id == workspace_id, these, _NOT_DELETED)).all()
    known = {key: row for row in found for key in (row.id, row.uuid)}
    missing: list[int | str] = []
    for reference in references:
        row = known.get(int(reference) if _is_number(reference) else str(reference).lower())
        if row is None:
            missing.append(reference)
        elif row.direction != OUTGOING:
            raise InvalidInput.on("messages", f"Message {reference} is not outgoing.")
        elif row.failed_reason == RESENT:
            raise InvalidInput.on("messages", f"Message {reference} was sent again before.")
        elif row.status != FAILED and (row.status, row.failed_reason) != (WIRED, UNCERTAIN):
            raise InvalidInput.on("messages", f"Message {reference} has not failed, and it is known that it was sent.")
    create_outgoing(
        tx,
        workspace_id,
        [Draft(row.contact_id, row.text, tuple(row.attachments), tuple(row.quick_replies)) for row in found],
    )
    ids = [row.id for row in found]
    again = update(message).where(rows.workspace_id == workspace_id, rows.id.in_(ids))
    tx.execute(again.values(failed_reason=RESENT, modified_on=later(tx, message)))
    note_messages(tx, workspace_id, ids)
    return missing


def _hold(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    """Locks messages that the caller has selected. Raises LostRace if one was deleted since."""
    if hold_messages(tx, _mine(workspace_id, message_ids)) < len(message_ids):
        raise LostRace


def _mine(workspace_id: int, message_ids: Sequence[int]) -> ColumnElement[bool]:
    living = (message.c.direction == INCOMING) & (message.c.visibility != DELETED)
    return (message.c.workspace_id == workspace_id) & message.c.id.in_(message_ids) & living


def _touch(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    if message_ids:
        _touch_messages.run(tx, workspace_id, message_ids, tx.now)
        note_changed(tx, message, workspace_id, message_ids)


_NOT_DELETED = message.c.visibility != DELETED
_LIVING = (message.c.direction == INCOMING) & _NOT_DELETED


def _are_these(workspace_id: int, ids: Sequence[int], uuids: Sequence[str] | None = None) -> ColumnElement[bool]:
    named = among(message.c.id, ids)
    either = named if uuids is None else or_(named, among(message.c.uuid, uuids, "UUID"))
    return (beside_index(message.c.workspace_id) == workspace_id) & either


def _holding(columns: Sequence[ColumnElement[Any]], *conditions: ColumnElement[bool]) -> Select[Any]:
    """Locks messages in the order of ids."""
    return select(*columns).where(*conditions).order_by(message.c.id).with_for_update(key_share=True)


@statement
def _lock_named(workspace_id: int, ids: Sequence[int], uuids: Sequence[str], *, by_uuid: bool) -> Executable:
    these = _are_these(workspace_id, ids, uuids if by_uuid else None)
    return _holding((message.c.id, message.c.uuid, message.c.direction), these, _NOT_DELETED)


@statement
def _lock_living(workspace_id: int, ids: Sequence[int]) -> Executable:
    columns = (message.c.id, message.c.created_on, message.c.visibility)
    return _holding(columns, _are_these(workspace_id, ids), _LIVING)


def _moving(new: str, now: datetime, *conditions: ColumnElement[bool], is_sqlite: bool) -> ReturningUpdate[Any]:
    """Also returns the labels of the messages: they are locked, so nobody adds one meanwhile."""
    theirs = message_label.c.message_id == message.c.id
    label_ids = select(func.group_concat(message_label.c.label_id) if is_sqlite else message_label.c.label_id)
    listed = label_ids.where(theirs).correlate(message).scalar_subquery()
    labels = listed if is_sqlite else func.array_to_string(func.array(listed), literal_column("','"))
    news = {"visibility": new, "modified_on": moved_on(message, now, is_sqlite=is_sqlite)}
    return update(message).where(*conditions).values(news).returning(message.c.id, message.c.contact_id, labels)


@statement
def _move_named(
    workspace_id: int,
    ids: Sequence[int],
    uuids: Sequence[str],
    old: str,
    new: str,
    now: datetime,
    *,
    by_uuid: bool,
    is_sqlite: bool = False,
) -> Executable:
    """Locks messages in the order of ids and moves those that can be moved, on PostgreSQL. Messages that another
    transaction changed after the statement began are left to `_move_held`: the other may have changed their labels,
    which this statement sees as they were. Whoever changes labels of a message moves its time.
    """
    columns = (message.c.id, message.c.direction, message.c.visibility, message.c.modified_on)
    these = _are_these(workspace_id, ids, uuids if by_uuid else None)
    held = _holding(columns, these, _NOT_DELETED).cte("held")
    is_mine = beside_index(message.c.workspace_id) == workspace_id
    can_move = (held.c.direction == INCOMING) & (held.c.visibility == old)
    is_same = (message.c.id == held.c.id) & (message.c.modified_on == held.c.modified_on)
    return _moving(new, now, is_mine, is_same, can_move, is_sqlite=is_sqlite)


@statement
def _move_held(
    workspace_id: int, ids: Sequence[int], old: str, new: str, now: datetime, *, is_sqlite: bool = False
) -> Executable:
    is_old = message.c.visibility == old
    return _moving(new, now, _are_these(workspace_id, ids), _LIVING, is_old, is_sqlite=is_sqlite)


@statement
def _touch_messages(workspace_id: int, ids: Sequence[int], now: datetime, *, is_sqlite: bool = False) -> Executable:
    living = update(message).where(_are_these(workspace_id, ids), _LIVING)
    return living.values(modified_on=moved_on(message, now, is_sqlite=is_sqlite))


_insert_labels = insert_rows(
    message_label,
    ("workspace_id", "message_id", "label_id", "created_on"),
    (message_label.c.message_id,),
    unless_taken=(),
)
