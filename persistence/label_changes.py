"""Renaming and deleting labels; both change what the records of labelled messages show."""

from sqlalchemy import delete, select, update

from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.labels import label, message_label, require_label
from persistence.messages import message
from persistence.names import check_name, check_name_is_free, name_key
from persistence.stamps import later
from persistence.workspaces import hold_workspace


def rename_label(tx: Transaction, workspace_id: int, uuid: str, name: str) -> int:
    """Rename a label; returns its id. Raises RecordMissing or InvalidInput."""
    hold_workspace(tx, workspace_id)
    label_id = require_label(tx, workspace_id, uuid)
    name = check_name(name)
    check_name_is_free(tx, workspace_id, label, name, besides_id=label_id)
    mine = (label.c.workspace_id == workspace_id) & (label.c.id == label_id)
    if tx.execute(select(label.c.name).where(mine)).scalar_one() != name:
        _touch_messages(tx, workspace_id, label_id)
    tx.execute(update(label).where(mine).values(name=name, name_key=name_key(name)))
    return label_id


def delete_label(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a label and take it off its messages, which stay. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    label_id = require_label(tx, workspace_id, uuid)
    touched = _touch_messages(tx, workspace_id, label_id)
    # Whoever is putting it on a message comes before this, and everybody else finds it gone.
    tx.execute(select(label.c.id).where(label.c.id == label_id).with_for_update())
    if tx.execute(delete(message_label).where(message_label.c.label_id == label_id)).rowcount != touched:
        raise LostRace
    tx.execute(delete(label).where(label.c.workspace_id == workspace_id, label.c.id == label_id))


def _touch_messages(tx: Transaction, workspace_id: int, label_id: int) -> int:
    """Notes that labelled messages change now; how many. Messages are locked before labels, in the order of ids."""
    labelled = select(message_label.c.message_id).where(message_label.c.label_id == label_id)
    theirs = (message.c.workspace_id == workspace_id) & message.c.id.in_(labelled)
    held = select(message.c.id).where(theirs).order_by(message.c.id).with_for_update()
    return tx.execute(update(message).where(message.c.id.in_(held)).values(modified_on=later(tx, message))).rowcount
