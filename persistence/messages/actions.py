"""The bulk actions on incoming messages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Text,
    cast,
    delete,
    func,
    literal_column,
    or_,
    select,
    update,
)

from persistence.changes import note_changed, note_messages, note_moved
from persistence.conversations.writes import Unread
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace
from persistence.labels import change_count, hold_messages, recount_after
from persistence.media.media import note_former_owners
from persistence.messages.states import INCOMING, OUTGOING
from persistence.sql.columns import NO_ID, is_uuid, read_id
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.sql.index_choice import beside_index
from persistence.sql.listed_rows import ROWS, inserting
from persistence.sql.names import find_ids
from persistence.stamps import later, moved_on
from persistence.tables.messages import ARCHIVED, DELETED, VISIBLE, label, message, message_label


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
    numbers = {int(reference) for reference in references if _is_number(reference)}
    uuids = {str(reference).lower() for reference in references if is_uuid(str(reference))}
    holding = _HOLDING_NAMED if uuids else _HOLDING
    values = {"owner": workspace_id, "ids": sorted(numbers)} | ({"uuids": sorted(uuids)} if uuids else {})
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


def archive_messages(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    """Visible messages, locked by `select_incoming`, become archived; labels no longer count them."""
    _move(tx, workspace_id, message_ids, VISIBLE, ARCHIVED, -1, Unread.FEWER)


def restore_messages(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    """Archived messages, locked by `select_incoming`, become visible again."""
    _move(tx, workspace_id, message_ids, ARCHIVED, VISIBLE, 1, Unread.CHANGED)


def delete_messages(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    """Delete messages: their content and labels go, the record stays as `deleted`."""
    theirs = _mine(workspace_id, message_ids)
    _hold(tx, workspace_id, message_ids)
    note_former_owners(tx, workspace_id, theirs)
    recount_after(tx, workspace_id, theirs & (message.c.visibility == VISIBLE), -1)
    tx.execute(delete(message_label).where(message_label.c.message_id.in_(message_ids)))
    emptied: dict[str, Any] = {"text": "", "attachments": [], "quick_replies": []}
    tx.execute(update(message).where(theirs).values(visibility=DELETED, modified_on=later(tx, message), **emptied))
    note_messages(tx, workspace_id, message_ids)


def _move(
    tx: Transaction, workspace_id: int, message_ids: Sequence[int], old: str, new: str, counts: int, unread: Unread
) -> None:
    values = {"owner": workspace_id, "ids": message_ids, "old": old, "new": new, "now": tx.now}
    moved = _MOVING.rows(tx, values)
    changes = Counter(int(label_id) for _, _, labels in moved if labels for label_id in labels.split(","))
    for label_id, number in sorted(changes.items()):
        change_count(tx, workspace_id, label_id, counts * number)
    note_moved(tx, workspace_id, {number: contact_id for number, contact_id, _ in moved}, unread)


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


def _held(columns: Sequence[ColumnElement[Any]], *conditions: ColumnElement[bool]) -> Fixed:
    """Locks messages in the order of ids."""
    statement = select(*columns).where(*conditions).order_by(message.c.id).with_for_update(key_share=True)
    return Fixed(lambda _is_sqlite: statement)


def _move_messages(is_sqlite: bool) -> Executable:
    """Also returns the labels of the messages: they are locked, so nobody adds one meanwhile."""
    label_id = cast(message_label.c.label_id, Text)
    listed = func.group_concat(label_id, ",") if is_sqlite else func.string_agg(label_id, literal_column("','"))
    labels = select(listed).where(message_label.c.message_id == message.c.id).correlate(message).scalar_subquery()
    moving = update(message).where(_THESE, _LIVING, message.c.visibility == param("old", Text))
    moving = moving.values(visibility=param("new", Text), modified_on=moved_on(message, is_sqlite))
    return moving.returning(message.c.id, message.c.contact_id, labels)


def _touch_messages(is_sqlite: bool) -> Executable:
    return update(message).where(_THESE, _LIVING).values(modified_on=moved_on(message, is_sqlite))


_NAMING = (message.c.id, message.c.uuid, message.c.direction)
_HOLDING = _held(_NAMING, _THESE, message.c.visibility != DELETED)
_BY_UUID = or_(among(message.c.id, "ids"), among(message.c.uuid, "uuids", "UUID"))
_HOLDING_NAMED = _held(_NAMING, _OF_OWNER, _BY_UUID, message.c.visibility != DELETED)
_CHOOSING = _held((message.c.id, message.c.created_on, message.c.visibility), _THESE, _LIVING)
_MOVING, _TOUCHING = Fixed(_move_messages), Fixed(_touch_messages)
_LABELING = inserting(
    message_label,
    ("workspace_id", "message_id", "label_id", "created_on"),
    (message_label.c.message_id,),
    unless_taken=(),
)
