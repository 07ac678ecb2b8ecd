"""What was deleted on the other side since it was carried goes here too, or the report says why it stays. What was here
before the move, and was only joined with a record there, stays.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Table, select

from persistence.contacts.deletion import delete_contacts, empty_messages
from persistence.database import Transaction
from persistence.errors import RecordMissing, Refused, SystemRecord
from persistence.field_editing import delete_field
from persistence.global_writes import delete_global
from persistence.groups.editing import delete_group
from persistence.labels import delete_label
from persistence.move.moves import (
    CONTACT,
    FIELD,
    FLOW,
    GLOBAL,
    GROUP,
    LABEL,
    MESSAGE,
    OPTIN,
    SUBSCRIBER,
    TEMPLATE,
    TOPIC,
    Move,
    Moved,
    find_carried,
    keep_moved,
)
from persistence.resthooks.subscribers import end_subscriptions
from persistence.sql.columns import split
from persistence.tables.contacts import contact, field, group
from persistence.tables.messages import DELETED, label, message
from persistence.tables.moves import moved_record, workspace_move
from persistence.tables.service import global_value

GONE = "was deleted there"
Delete = Callable[[Transaction, Move, str], None]

WHOLE: Mapping[str, tuple[Table, Delete]] = {
    FIELD: (field, lambda tx, move, key: delete_field(tx, move.workspace, key)),
    GLOBAL: (global_value, lambda tx, move, key: delete_global(tx, move.workspace.id, key)),
    GROUP: (group, lambda tx, move, uuid: delete_group(tx, move.workspace.id, uuid)),
    LABEL: (label, lambda tx, move, uuid: delete_label(tx, move.workspace.id, uuid)),
}
"""Kinds whose lists are read whole in each pass, and how one of their records is deleted by its UUID or key."""
STAYING = (TOPIC, OPTIN, TEMPLATE)
"""Kinds that nobody can delete here."""


def find_gone(tx: Transaction, move: Move, kind: str, seen: Collection[str]) -> dict[str, int]:
    """The records of a kind that were carried and are not among those that the other side lists now."""
    rows = moved_record.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.move_id == move.id) & (rows.kind == kind)
    found = tx.execute(select(rows.reference, rows.record).where(mine, rows.record.is_not(None)).order_by(rows.record))
    return {reference: record for reference, record in found if reference not in seen and record is not None}


def forget_gone(tx: Transaction, move: Move, kind: str, seen: Collection[str]) -> None:
    """Deletes what the other side does not list any more, of a kind whose list was read whole."""
    gone = find_gone(tx, move, kind, seen)
    if kind == SUBSCRIBER and gone:
        end_subscriptions(tx, move.workspace.id, sorted(gone.values()))
        keep_moved(tx, move, kind, [Moved(reference, None, reference, GONE) for reference in gone])
    elif kind in STAYING:
        note = f"{GONE}, and stays here"
        keep_moved(tx, move, kind, [Moved(reference, number, reference, note) for reference, number in gone.items()])
    elif kind in WHOLE:
        keep_moved(tx, move, kind, [_delete(tx, move, kind, reference, number) for reference, number in gone.items()])


def _delete(tx: Transaction, move: Move, kind: str, reference: str, number: int) -> Moved:
    table, delete = WHOLE[kind]
    is_keyed = kind in (FIELD, GLOBAL)
    mine = (table.c.workspace_id == move.workspace.id) & (table.c.id == number)
    row = tx.execute(select(table.c.name, table.c.uuid, table.c.created_on).where(mine)).first()
    if row is None:
        return Moved(reference, None, reference, GONE)
    began = select(workspace_move.c.created_on).where(workspace_move.c.id == move.id)
    came_with_it = row.created_on >= tx.execute(began).scalar_one() if is_keyed else row.uuid == reference
    if not came_with_it:
        return Moved(reference, number, row.name, f"{GONE}; it was here before the move, and stays")
    try:
        delete(tx, move, reference)  # which refuses before it changes anything
    except (Refused, SystemRecord, RecordMissing) as error:
        return Moved(reference, number, row.name, f"{GONE}, and stays here: {error or 'it cannot be deleted'}")
    return Moved(reference, None, row.name, GONE)


def delete_people(tx: Transaction, move: Move, uuids: Iterable[str]) -> None:
    """Deletes contacts that were deleted there, with their messages, runs and tickets, as there."""
    ids = find_carried(tx, move, CONTACT, uuids)
    rows = contact.c
    for some in split(sorted(ids)):
        mine = (rows.workspace_id == move.workspace.id) & rows.id.in_([ids[uuid] for uuid in some]) & ~rows.is_deleted
        here = {number: uuid for number, uuid in tx.execute(select(rows.id, rows.uuid).where(mine).order_by(rows.id))}
        with_it = sorted(number for uuid, number in ((each, ids[each]) for each in some) if here.get(number) == uuid)
        if with_it:
            delete_contacts(tx, move.workspace.id, with_it)
        stays = f"{GONE}; it was here before the move, and stays"
        keep_moved(
            tx,
            move,
            CONTACT,
            [
                Moved(uuid, ids[uuid], uuid, stays)
                if here.get(ids[uuid], uuid) != uuid
                else Moved(uuid, None, uuid, GONE)
                for uuid in some
            ],
        )


def find_living(tx: Transaction, move: Move, uuids: Iterable[str]) -> list[str]:
    """Those of these contacts that were carried and are not deleted here."""
    ids = find_carried(tx, move, CONTACT, uuids)
    rows, living = contact.c, set[int]()
    for some in split(sorted(ids.values())):
        mine = (rows.workspace_id == move.workspace.id) & rows.id.in_(some) & ~rows.is_deleted
        living.update(tx.execute(select(rows.id).where(mine)).scalars())
    return sorted(uuid for uuid, number in ids.items() if number in living)


def delete_messages_between(
    tx: Transaction, move: Move, after: datetime, before: datetime | None, listed: Sequence[str]
) -> int:
    """Deletes messages that were carried, were created between two times, and are not among those that the other side
    lists between them; returns how many."""
    rows = message.c
    within = (rows.workspace_id == move.workspace.id) & (rows.created_on > after) & (rows.visibility != DELETED)
    if before is not None:
        within &= rows.created_on < before
    here = set(find_carried(tx, move, MESSAGE, listed).values())
    came = moved_record.c
    mine = (came.workspace_id == move.workspace.id) & (came.move_id == move.id) & (came.kind == MESSAGE)
    found = select(rows.id, came.reference).join(moved_record, mine & (came.record == rows.id)).where(within)
    gone = {number: reference for number, reference in tx.execute(found) if number not in here}
    for some in split(sorted(gone)):
        empty_messages(tx, move.workspace.id, (rows.workspace_id == move.workspace.id) & rows.id.in_(some))
    keep_moved(tx, move, MESSAGE, [Moved(each, None, f"message {each}", GONE) for each in gone.values()])
    return len(gone)


def note_flow(tx: Transaction, move: Move, reference: str, number: int, why: str) -> None:
    keep_moved(tx, move, FLOW, [Moved(reference, number, reference, why)])
