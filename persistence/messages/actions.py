"""The bulk actions on incoming messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, or_, select, update

from persistence.changes import note_changed, note_messages
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace
from persistence.labels import change_count, hold_messages, recount_after
from persistence.media.media import note_former_owners
from persistence.messages.states import INCOMING, OUTGOING
from persistence.sql.columns import NO_ID, is_uuid, read_id
from persistence.sql.names import find_ids
from persistence.stamps import later
from persistence.tables.messages import ARCHIVED, DELETED, VISIBLE, label, message, message_label


@dataclass(frozen=True, slots=True)
class Selection:
    """The existing messages of an action, and the references without a message."""

    ids: list[int]
    missing: list[int | str]


def select_incoming(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], *, ignore_outgoing: bool = False
) -> Selection:
    """Incoming messages by integer id or UUID; one statement. Raises InvalidInput for an outgoing one, unless they are
    to be ignored (v1).
    """
    numbers = {int(reference) for reference in references if _is_number(reference)}
    uuids = {str(reference).lower() for reference in references if is_uuid(str(reference))}
    named = or_(message.c.id.in_(numbers), message.c.uuid.in_(uuids)) if uuids else message.c.id.in_(numbers)
    statement = select(message.c.id, message.c.uuid, message.c.direction).where(
        message.c.workspace_id == workspace_id, message.c.visibility != DELETED, named
    )
    found: dict[int | str, tuple[int, str]] = {}
    for message_id, uuid, direction in tx.execute(statement):
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
    rows = tx.execute(_chosen(workspace_id, message_ids)).all()
    if len(rows) < len(message_ids) and not may_be_gone:
        raise LostRace
    links = [
        {"workspace_id": workspace_id, "message_id": number, "label_id": label_id, "created_on": created_on}
        for number, created_on, _ in rows
    ]
    if not links:
        return
    statement = tx.upsert(message_label).values(links).on_conflict_do_nothing().returning(message_label.c.message_id)
    added = set(tx.execute(statement).scalars())
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
    rows = tx.execute(_chosen(workspace_id, removed)).all()
    change_count(tx, workspace_id, label_id, -sum(1 for _, _, visibility in rows if visibility == VISIBLE))
    _touch(tx, workspace_id, removed)


def archive_messages(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    """Visible messages become archived; labels no longer count them."""
    _move(tx, workspace_id, message_ids, VISIBLE, ARCHIVED, -1)


def restore_messages(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    """Archived messages become visible again."""
    _move(tx, workspace_id, message_ids, ARCHIVED, VISIBLE, 1)


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


def _move(tx: Transaction, workspace_id: int, message_ids: Sequence[int], old: str, new: str, counts: int) -> None:
    theirs = _mine(workspace_id, message_ids) & (message.c.visibility == old)
    # All of them, not only those to change: others may become such while this waits for locks.
    _hold(tx, workspace_id, message_ids)
    recount_after(tx, workspace_id, theirs, counts)
    tx.execute(update(message).where(theirs).values(visibility=new, modified_on=later(tx, message)))
    note_messages(tx, workspace_id, message_ids)


def _hold(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    """Locks messages that the caller has selected. Raises LostRace if one was deleted since."""
    if hold_messages(tx, _mine(workspace_id, message_ids)) < len(message_ids):
        raise LostRace


def _mine(workspace_id: int, message_ids: Sequence[int]) -> ColumnElement[bool]:
    living = (message.c.direction == INCOMING) & (message.c.visibility != DELETED)
    return (message.c.workspace_id == workspace_id) & message.c.id.in_(message_ids) & living


def _chosen(workspace_id: int, message_ids: Sequence[int]) -> Select[int, datetime, str]:
    columns = (message.c.id, message.c.created_on, message.c.visibility)
    return (
        select(*columns).where(_mine(workspace_id, message_ids)).order_by(message.c.id).with_for_update(key_share=True)
    )


def _touch(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    if message_ids:
        tx.execute(update(message).where(_mine(workspace_id, message_ids)).values(modified_on=later(tx, message)))
        note_changed(tx, message, workspace_id, message_ids)
