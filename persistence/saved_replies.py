"""Texts that people of a workspace often send."""

from sqlalchemy import delete, update

from persistence.database import Transaction
from persistence.deletions import SAVED_REPLY, note_deleted
from persistence.lists import ListSpec, equals
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.names import check_room, free_name, require_id
from persistence.stamps import later
from persistence.tables.messages import saved_reply
from persistence.workspaces.records import hold_workspace

rows = saved_reply.c

SAVED_REPLIES = ListSpec(
    saved_reply,
    Record(
        {
            "uuid": rows.uuid,
            "name": rows.name,
            "text": rows.text,
            "created_on": rows.created_on,
            "modified_on": rows.modified_on,
        }
    ),
    Order(rows.created_on, rows.id),
    filters={"uuid": equals(rows.uuid)},
)


def create_saved_reply(tx: Transaction, workspace_id: int, name: str, text: str) -> int:
    """Create a saved reply; returns its id. Raises InvalidInput for a bad or taken name, LimitReached at the
    workspace's limit.
    """
    hold_workspace(tx, workspace_id)
    naming = free_name(tx, workspace_id, saved_reply, name)
    check_room(tx, workspace_id, saved_reply)
    return tx.insert(saved_reply, workspace_id=workspace_id, text=text, created_on=tx.now, modified_on=tx.now, **naming)


def change_saved_reply(tx: Transaction, workspace_id: int, uuid: str, name: str, text: str) -> int:
    """Change the name and text of a saved reply; returns its id. Raises RecordMissing or InvalidInput."""
    hold_workspace(tx, workspace_id)
    reply_id = require_id(tx, workspace_id, saved_reply, uuid)
    naming = free_name(tx, workspace_id, saved_reply, name, besides_id=reply_id)
    mine = (rows.workspace_id == workspace_id) & (rows.id == reply_id)
    tx.execute(
        update(saved_reply)
        .where(mine)
        .values(text=text, modified_on=later(saved_reply, tx.now, is_sqlite=tx.sqlite), **naming)
    )
    return reply_id


def delete_saved_reply(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a saved reply. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    reply_id = require_id(tx, workspace_id, saved_reply, uuid)
    tx.execute(delete(saved_reply).where(rows.workspace_id == workspace_id, rows.id == reply_id))
    note_deleted(tx, workspace_id, SAVED_REPLY, [uuid])
