"""The bulk actions on messages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    Text,
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
from persistence.statements import ROWS, Fixed, among, inserting, param
from persistence.tables.messages import ARCHIVED, DELETED, VISIBLE, label, message, message_label

UUIDS = "uuids"
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
    values = _named_by(workspace_id, references)
    holding = _HOLDING_NAMED if UUIDS in values else _HOLDING
    found: dict[int | str, tuple[int, str]] = {}
    for message_id, uuid, direction in holding.rows(tx, values):
        found[message_id] = found[uuid] = (message_id, direction)
    ids: list[int] = []
    missing: list[int | str] = []
    for reference in references:
        known = found.get(int(reference) if _is_number(reference) else str(reference).lower())
        if known is None:
            missing.append(reference)
            continue
        message_id, direction = known
        if direction != OUTGOING:
            ids.append(message_id)
        elif not ignore_outgoing:
            raise InvalidInput.on("messages", f"Message {reference} is not incoming.")
    return Selection(list(dict.fromkeys(ids)), missing)


def _named_by(workspace_id: int, references: Sequence[int | str]) -> dict[str, Any]:
    numbers: set[int] = set()
    uuids: set[str] = set()
    for reference in references:
        if _is_number(reference):
            numbers.add(int(reference))
        elif is_uuid(str(reference)):
            uuids.add(str(reference).lower())
    return {"owner": workspace_id, "ids": sorted(numbers)} | ({UUIDS: sorted(uuids)} if uuids else {})


def _is_number(reference: int | str) -> bool:
    text = str(reference)
    return text.isascii() and text.isdecimal() and len(text) <= 10 and read_id(text) != NO_ID


def add_label(
    tx: Transaction, workspace_id: int, message_ids: Sequence[int], label_id: int, *, may_be_gone: bool = False
) -> None:
    """Label messages; those that have the label already are not changed. Raises LostRace if one was deleted since the
    caller selected it, unless they `may_be_gone`.
    """
    rows = _CHOOSING.rows(tx, {"owner": workspace_id, "ids": message_ids})
    if len(rows) < len(message_ids) and not may_be_gone:
        raise LostRace
    links = [
        {"workspace_id": workspace_id, "message_id": number, "label_id": label_id, "created_on": created_on}
        for number, created_on, _ in rows
    ]
    if not links:
        return
    added = {message_id for (message_id,) in _LABELING.rows(tx, {ROWS: links})}
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
    rows = _CHOOSING.rows(tx, {"owner": workspace_id, "ids": removed})
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
    values = _named_by(workspace_id, references) | {"old": move.old, "new": move.new, "now": tx.now}
    moved = [] if tx.sqlite else list((_MOVING_NAMED if UUIDS in values else _MOVING).rows(tx, values))
    missing: list[int | str] = []
    # Each reference names one message at most: if as many have moved, nothing is missing.
    if len(moved) < len({str(reference) for reference in references}):
        chosen = select_incoming(tx, workspace_id, references, ignore_outgoing=ignore_outgoing)
        missing = chosen.missing
        others = sorted(set(chosen.ids) - {number for number, _, _ in moved})
        moved += _MOVING_HELD.rows(tx, values | {"ids": others}) if others else []
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
    named, rows = _named_by(workspace_id, references), message.c
    these = rows.id.in_(named["ids"]) | rows.uuid.in_(named.get(UUIDS, ()))
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
        _TOUCHING.run_later(tx, {"owner": workspace_id, "ids": message_ids, "now": tx.now})
        note_changed(tx, message, workspace_id, message_ids)


_OF_OWNER = beside_index(message.c.workspace_id) == param("owner")
_LIVING = (message.c.direction == INCOMING) & (message.c.visibility != DELETED)
_THESE = _OF_OWNER & among(message.c.id, "ids")


def _holding(columns: Sequence[ColumnElement[Any]], *conditions: ColumnElement[bool]) -> Select[Any]:
    """Locks messages in the order of ids."""
    return select(*columns).where(*conditions).order_by(message.c.id).with_for_update(key_share=True)


def _held(columns: Sequence[ColumnElement[Any]], *conditions: ColumnElement[bool]) -> Fixed:
    statement = _holding(columns, *conditions)
    return Fixed(lambda _is_sqlite: statement)


def _moving(is_sqlite: bool, *conditions: ColumnElement[bool]) -> ReturningUpdate[Any]:
    """Also returns the labels of the messages: they are locked, so nobody adds one meanwhile."""
    theirs = message_label.c.message_id == message.c.id
    label_ids = select(func.group_concat(message_label.c.label_id) if is_sqlite else message_label.c.label_id)
    listed = label_ids.where(theirs).correlate(message).scalar_subquery()
    labels = listed if is_sqlite else func.array_to_string(func.array(listed), literal_column("','"))
    news = {"visibility": param("new", Text), "modified_on": moved_on(message, is_sqlite)}
    return update(message).where(*conditions).values(news).returning(message.c.id, message.c.contact_id, labels)


def _choose_and_move(*conditions: ColumnElement[bool]) -> Fixed:
    """Locks messages in the order of ids and moves those that can be moved, on PostgreSQL. Messages that another
    transaction changed after the statement began are left to `_MOVING_HELD`: the other may have changed their labels,
    which this statement sees as they were. Whoever changes labels of a message moves its time.
    """
    columns = (message.c.id, message.c.direction, message.c.visibility, message.c.modified_on)
    held = _holding(columns, *conditions, message.c.visibility != DELETED).cte("held")
    can_move = (held.c.direction == INCOMING) & (held.c.visibility == param("old", Text))
    is_same = (message.c.id == held.c.id) & (message.c.modified_on == held.c.modified_on)
    return Fixed(lambda is_sqlite: _moving(is_sqlite, _OF_OWNER, is_same, can_move))


def _touch_messages(is_sqlite: bool) -> Executable:
    return update(message).where(_THESE, _LIVING).values(modified_on=moved_on(message, is_sqlite))


_NAMING = (message.c.id, message.c.uuid, message.c.direction)
_BY_UUID = or_(among(message.c.id, "ids"), among(message.c.uuid, UUIDS, "UUID"))
_NOT_DELETED = message.c.visibility != DELETED
_HOLDING = _held(_NAMING, _THESE, _NOT_DELETED)
_HOLDING_NAMED = _held(_NAMING, _OF_OWNER, _BY_UUID, _NOT_DELETED)
_CHOOSING = _held((message.c.id, message.c.created_on, message.c.visibility), _THESE, _LIVING)
_MOVING, _MOVING_NAMED = _choose_and_move(_THESE), _choose_and_move(_OF_OWNER, _BY_UUID)
_IS_OLD = message.c.visibility == param("old", Text)
_MOVING_HELD = Fixed(lambda is_sqlite: _moving(is_sqlite, _THESE, _LIVING, _IS_OLD))
_TOUCHING = Fixed(_touch_messages)
_LABELING = inserting(
    message_label,
    ("workspace_id", "message_id", "label_id", "created_on"),
    (message_label.c.message_id,),
    unless_taken=(),
)
