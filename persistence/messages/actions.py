"""What is done with messages: the bulk actions, test messages, and the end of those that nobody has sent for days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Executable, case, delete, exists, func, or_, select

from channels.types import GATEWAYS
from flows.urns import Urn
from persistence.changes import (
    IS_LIVING,
    are_these,
    change_count,
    change_messages,
    hold_messages,
    holding,
    move_messages,
)
from persistence.channels.channels import IS_RELAYER
from persistence.channels.terms import USUAL, load_terms
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace, RecordMissing
from persistence.media.store import note_former_owners
from persistence.messages.outgoing import CHOSEN, Draft, create_outgoing
from persistence.messages.routes import Route, find_routes
from persistence.messages.templated import FilledTemplate
from persistence.sql.columns import NO_ID, is_uuid, read_id
from persistence.sql.names import find_ids
from persistence.stamps import NewMessage, changes_of
from persistence.statements import insert_rows, statement
from persistence.tables.channels import channel
from persistence.tables.messages import (
    ARCHIVED,
    DELETED,
    ERRORED,
    FAILED,
    IS_UNSENT,
    OUTGOING,
    QUEUED,
    RESENT,
    UNCERTAIN,
    VISIBLE,
    WIRED,
    label,
    message,
    message_label,
)

TOO_OLD, PHONE_SILENT = "too_old", "phone_silent"
UNSENT_FOR = timedelta(days=7)
"""Relayer protocol, life of an outgoing message: queued or errored ones fail after seven days, and those that a phone
has (`wired`) if it has been silent for as long."""

SURE = timedelta(seconds=10)
"""A message that is due sooner may be on its way."""
STOPPED = "stopped"
EMPTIED: Mapping[str, Any] = {
    "text": "",
    "attachments": [],
    "quick_replies": [],
    "template": None,
    "visibility": DELETED,
}
"""What deleted messages keep."""

_TOO_LATE = case((message.c.status == WIRED, PHONE_SILENT), else_=TOO_OLD)


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
    change_messages(tx, workspace_id, added, only=IS_LIVING)


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
    change_messages(tx, workspace_id, removed, only=IS_LIVING)


def archive_messages(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], *, ignore_outgoing: bool = False
) -> list[int | str]:
    """Visible messages become archived; labels no longer count them. Returns the references without a message, and
    raises InvalidInput as `select_incoming` does; so do the other two.
    """
    return _move(tx, workspace_id, references, VISIBLE, ARCHIVED, ignore_outgoing)


def restore_messages(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], *, ignore_outgoing: bool = False
) -> list[int | str]:
    """Archived messages become visible again."""
    return _move(tx, workspace_id, references, ARCHIVED, VISIBLE, ignore_outgoing)


def delete_messages(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], *, ignore_outgoing: bool = False
) -> list[int | str]:
    """Delete messages: their content and labels go, the record stays as `deleted`."""
    chosen = select_incoming(tx, workspace_id, references, ignore_outgoing=ignore_outgoing)
    theirs = _mine(workspace_id, chosen.ids)
    _hold(tx, workspace_id, chosen.ids)
    note_former_owners(tx, workspace_id, theirs)
    change_messages(tx, workspace_id, chosen.ids, EMPTIED, only=IS_LIVING)
    return chosen.missing


def _move(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], old: str, new: str, ignore_outgoing: bool
) -> list[int | str]:
    ids, uuids = _named_by(references)
    moved = [] if tx.sqlite else move_messages(tx, workspace_id, ids, uuids, old, new)
    missing: list[int | str] = []
    # Each reference names one message at most: if as many have moved, nothing is missing.
    if len(moved) < len({str(reference) for reference in references}):
        chosen = select_incoming(tx, workspace_id, references, ignore_outgoing=ignore_outgoing)
        missing = chosen.missing
        others = sorted(set(chosen.ids) - set(moved))
        if others:
            move_messages(tx, workspace_id, others, None, old, new)
    return missing


def resend_messages(
    tx: Transaction, workspace_id: int, references: Sequence[int | str], *, author_id: int | None = None
) -> list[int | str]:
    """Sends messages again that failed, or of which nobody knows whether they were sent: each as a message of its own,
    and once. Returns the references without a message. Raises InvalidInput for one that cannot be sent again.
    """
    (ids, uuids), rows = _named_by(references), message.c
    these = rows.id.in_(ids) | rows.uuid.in_(uuids)
    columns = (rows.id, rows.uuid, rows.direction, rows.status, rows.failed_reason)
    content = (rows.contact_id, rows.text, rows.attachments, rows.quick_replies, rows.template)
    found = tx.execute(holding([*columns, *content], rows.workspace_id == workspace_id, these, _NOT_DELETED)).all()
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
        [
            Draft(
                row.contact_id,
                row.text,
                tuple(row.attachments),
                tuple(row.quick_replies),
                filled=FilledTemplate.read(row.template, row.text),
                author_id=author_id,
            )
            for row in found
        ],
    )
    change_messages(tx, workspace_id, [row.id for row in found], {"failed_reason": RESENT})
    return missing


def find_waiting(tx: Transaction, workspace_id: int, uuid: str) -> tuple[int, Draft] | None:
    """The id and the content of a message that perhaps waits for a chosen time; None if there is none."""
    rows = message.c
    if not is_uuid(uuid):
        return None
    columns = (rows.id, rows.contact_id, rows.text, rows.attachments, rows.quick_replies, rows.template)
    mine = (rows.workspace_id == workspace_id) & (rows.uuid == uuid.lower())
    row = tx.execute(select(*columns).where(mine, _NOT_DELETED)).first()
    if row is None:
        return None
    filled = FilledTemplate.read(row.template, row.text)
    return row.id, Draft(row.contact_id, row.text, tuple(row.attachments), tuple(row.quick_replies), filled=filled)


def take_back(tx: Transaction, workspace_id: int, message_id: int, field: str) -> None:
    """Takes back a message that waits for the time that somebody chose. Raises InvalidInput for any other, and for one
    that is due so soon that it may be on its way; LostRace for one that somebody has taken back meanwhile.
    """
    rows = message.c
    mine = (rows.workspace_id == workspace_id) & (rows.id == message_id)
    waits = (rows.status == QUEUED) & (rows.due_reason == CHOSEN) & (rows.due_on > tx.now + SURE)
    if not hold_messages(tx, mine & waits):
        if tx.execute(select(rows.id).where(mine, rows.visibility == DELETED)).first() is not None:
            raise LostRace
        raise InvalidInput.on(field, "This message does not wait for its time any more.")
    note_former_owners(tx, workspace_id, mine)
    columns = (rows.contact_id, rows.channel_id, rows.author_id, rows.segments, rows.created_on)
    row = tx.execute(select(*columns).where(mine)).one()
    terms = load_terms(tx, workspace_id, {row.channel_id}).get(row.channel_id, USUAL)
    written = NewMessage(
        message_id,
        row.contact_id,
        row.channel_id,
        OUTGOING,
        row.created_on,
        None,
        segments=row.segments or 0,
        cost=(row.segments or 0) * terms.segment_cost,
        status=QUEUED,
        author_id=row.author_id,
    )
    changes_of(tx, workspace_id).take_back(written)
    values = {"status": FAILED, "failed_reason": STOPPED, "due_on": None, "due_reason": None}
    change_messages(tx, workspace_id, [message_id], {**values, **EMPTIED})


def send_test(tx: Transaction, workspace_id: int, channel_uuid: str, urn: Urn, text: str) -> int:
    """Sends a text to a URN by one channel, whichever serves the URN otherwise; returns the message's id. A contact is
    created for a URN without an owner, as by `ensure_owners`. Raises RecordMissing for an unknown channel, and
    InvalidInput for a scheme that the channel does not serve.
    """
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
    statement = select(channel.c.id, channel.c.type, channel.c.schemes).where(mine)
    # Locked, so that it is not released before the message is there: a channel that is gone is missing.
    row = tx.execute(statement.with_for_update(read=True, key_share=True)).first()
    if row is None:
        raise RecordMissing
    if urn.scheme not in row.schemes:
        raise InvalidInput.on("urn", f"This channel sends to {', '.join(row.schemes)}.")
    owner = ensure_owners(tx, workspace_id, [urn], channel_id=row.id)[urn.identity]
    # It locks the contact, and tells whether it may get messages.
    route = find_routes(tx, workspace_id, [owner.contact_id], channel_id=row.id).get(owner.contact_id)
    if route is not None and route.failed_reason is None:
        route = Route(urn.identity, row.id, is_by_gateway=row.type in GATEWAYS, has_terms=True)
    return create_outgoing(tx, workspace_id, [Draft(owner.contact_id, text, route=route)])[0]


def fail_old_messages(tx: Transaction, limit: int = 1000) -> int:
    """Fails up to `limit` outgoing messages that have been queued or errored for longer than UNSENT_FOR, or whose phone
    has been silent for as long; returns their number.
    """
    is_waiting = message.c.status.in_((QUEUED, ERRORED))
    long_ago = tx.now - UNSENT_FOR
    its = (channel.c.id == message.c.channel_id) & (channel.c.workspace_id == message.c.workspace_id) & IS_RELAYER
    is_silent = func.coalesce(channel.c.last_seen, channel.c.created_on) < long_ago
    is_long_due = or_(message.c.due_on.is_(None), message.c.due_on < long_ago)
    is_stuck = (message.c.status == WIRED) & exists().where(its, is_silent)
    old = (
        select(message.c.workspace_id, message.c.id)
        .where(IS_UNSENT, or_(is_waiting, is_stuck), message.c.created_on < long_ago, is_long_due)
        .order_by(message.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    # Read first: PostgreSQL may look into a subquery again for each row, and then it passes over the rows it has just
    # failed and finds others.
    found: dict[int, list[int]] = {}
    for workspace_id, message_id in tx.execute(old):
        found.setdefault(workspace_id, []).append(message_id)
    for workspace_id, ids in sorted(found.items()):
        change_messages(tx, workspace_id, ids, {"status": FAILED, "failed_reason": _TOO_LATE})
    return sum(map(len, found.values()))


def _hold(tx: Transaction, workspace_id: int, message_ids: Sequence[int]) -> None:
    """Locks messages that the caller has selected. Raises LostRace if one was deleted since."""
    if hold_messages(tx, _mine(workspace_id, message_ids)) < len(message_ids):
        raise LostRace


def _mine(workspace_id: int, message_ids: Sequence[int]) -> ColumnElement[bool]:
    return (message.c.workspace_id == workspace_id) & message.c.id.in_(message_ids) & IS_LIVING


_NOT_DELETED = message.c.visibility != DELETED


@statement
def _lock_named(workspace_id: int, ids: Sequence[int], uuids: Sequence[str], *, by_uuid: bool) -> Executable:
    these = are_these(workspace_id, ids, uuids if by_uuid else None)
    return holding((message.c.id, message.c.uuid, message.c.direction), these, _NOT_DELETED)


@statement
def _lock_living(workspace_id: int, ids: Sequence[int]) -> Executable:
    columns = (message.c.id, message.c.created_on, message.c.visibility)
    return holding(columns, are_these(workspace_id, ids), IS_LIVING)


_insert_labels = insert_rows(
    message_label,
    ("workspace_id", "message_id", "label_id", "created_on"),
    (message_label.c.message_id,),
    unless_taken=(),
)
