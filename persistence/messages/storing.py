"""Inserts messages, of any number by one statement, and notes what follows from them."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

from sqlalchemy import select

from persistence.changes import NewMessage, note_new_messages
from persistence.database import Transaction
from persistence.sql.columns import split
from persistence.sql.listed_rows import inserting
from persistence.tables.messages import DELETED, message

_rows = message.c
_OUTGOING = inserting(
    message,
    (
        *("uuid", "workspace_id", "contact_id", "urn", "channel_id", "broadcast_id", "flow_id", "direction", "type"),
        *("status", "visibility", "text", "attachments", "quick_replies", "failed_reason", "error_count"),
        *("automatic", "created_on", "modified_on"),
    ),
    (_rows.id, _rows.uuid, _rows.folder),
)
_INCOMING = inserting(
    message,
    (
        *("uuid", "workspace_id", "contact_id", "urn", "channel_id", "direction", "type", "status", "visibility"),
        *("text", "attachments", "quick_replies", "external_id", "error_count"),
        *("created_on", "stored_on", "modified_on"),
    ),
    (_rows.id, _rows.uuid, _rows.folder),
    unless_taken=("channel_id", "direction", "external_id", "workspace_id"),
)

Row = Mapping[str, Any]


def insert_outgoing(tx: Transaction, workspace_id: int, rows: Sequence[Row]) -> dict[str, int]:
    """Inserts outgoing messages; returns their ids by UUID."""
    return _note(tx, workspace_id, rows, _OUTGOING.rows(tx, {"rows": rows}))


def insert_incoming(
    tx: Transaction, workspace_id: int, rows: Sequence[Row], new_contacts: Set[int] = frozenset()
) -> dict[str, int]:
    """Inserts those of these incoming messages that are not there yet; returns their ids by UUID. The `new_contacts`
    were created by this unit of work, and these are their first messages.
    """
    return _note(tx, workspace_id, rows, _INCOMING.rows(tx, {"rows": rows}), new_contacts)


def _note(
    tx: Transaction,
    workspace_id: int,
    rows: Sequence[Row],
    stored: Sequence[Any],
    new_contacts: Set[int] = frozenset(),
) -> dict[str, int]:
    given = {row["uuid"]: row for row in rows}
    made = [
        _new_message(row := given[uuid], number, folder, is_of_new=row["contact_id"] in new_contacts)
        for number, uuid, folder in stored
    ]
    note_new_messages(tx, workspace_id, made)
    return {uuid: number for number, uuid, _ in stored}


def _new_message(row: Row, number: int, folder: str | None, *, is_of_new: bool = False) -> NewMessage:
    is_deleted = row["visibility"] == DELETED
    return NewMessage(
        number, row["contact_id"], row["channel_id"], row["direction"], row["created_on"], folder, is_deleted, is_of_new
    )


def note_stored(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    """Notes messages that were inserted otherwise."""
    names = ("contact_id", "channel_id", "direction", "created_on", "visibility", "folder")
    for some in split(ids):
        mine = (_rows.workspace_id == workspace_id) & _rows.id.in_(some)
        found = tx.execute(select(_rows.id, *(_rows[name] for name in names)).where(mine)).mappings()
        note_new_messages(tx, workspace_id, [_new_message(dict(row), row["id"], row["folder"]) for row in found])
