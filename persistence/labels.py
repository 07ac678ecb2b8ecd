"""Message labels."""

from dataclasses import replace

from sqlalchemy import delete, func, select

from persistence.changes import change_messages
from persistence.database import Transaction
from persistence.deletions import LABEL, note_deleted
from persistence.errors import LostRace
from persistence.lists import ListSpec, NewRecord, contains, equals, insert_new, named, one_of
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.names import check_new, find_id, name_key, rename_record, require_id
from persistence.stamps import later
from persistence.statements import update
from persistence.tables.messages import label, message, message_label, saved_reply
from persistence.workspaces.records import hold_workspace

LABEL_RECORD = Record({"uuid": label.c.uuid, "name": label.c.name, "count": label.c.message_count})

LABELS = ListSpec(
    label,
    LABEL_RECORD,
    Order(label.c.created_on, label.c.id),
    filters={"uuid": equals(label.c.uuid), "name": named(label)},
)
LABELS_V1 = replace(LABELS, filters={"name": contains(label.c.name_key), "uuid": one_of(label.c.uuid)})


def find_label(tx: Transaction, workspace_id: int, reference: str) -> int | None:
    """The id of the label with this UUID, otherwise with this name (in any case)."""
    return find_id(tx, workspace_id, label, reference, by_name=True)


def find_label_by_name(tx: Transaction, workspace_id: int, name: str) -> int | None:
    """The id of the label with this name (any case)."""
    mine = (label.c.workspace_id == workspace_id) & (label.c.name_key == name_key(name.strip()))
    return tx.execute(select(label.c.id).where(mine)).scalar_one_or_none()


def ensure_label(tx: Transaction, workspace_id: int, name: str, *, field: str = "name") -> int:
    """The id of the label with this name (in any case), which is created if there is none. Raises InvalidInput for a
    bad name, LimitReached at the workspace's limit.
    """
    label_id = find_label_by_name(tx, workspace_id, name)
    if label_id is None:
        hold_workspace(tx, workspace_id)
        label_id = find_label_by_name(tx, workspace_id, name)
    return create_label(tx, workspace_id, name, field=field) if label_id is None else label_id


def new_label(tx: Transaction, workspace_id: int, name: str, *, field: str = "name") -> NewRecord:
    """A label to be inserted. Raises InvalidInput for a bad or taken name, LimitReached at the workspace's limit."""
    hold_workspace(tx, workspace_id)
    naming = check_new(tx, workspace_id, label, name, field=field)
    return NewRecord(label, {"workspace_id": workspace_id, "created_on": tx.now, **naming})


def create_label(tx: Transaction, workspace_id: int, name: str, *, field: str = "name") -> int:
    """Create a label; returns its id. Raises what `new_label` raises."""
    return insert_new(tx, new_label(tx, workspace_id, name, field=field))


def rename_label(tx: Transaction, workspace_id: int, uuid: str, name: str) -> int:
    """Rename a label; returns its id. Raises RecordMissing or InvalidInput."""
    hold_workspace(tx, workspace_id)
    label_id = require_id(tx, workspace_id, label, uuid)
    return rename_record(tx, workspace_id, label, label_id, name)


def delete_label(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a label and remove it from its messages, which stay. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    label_id = require_id(tx, workspace_id, label, uuid)
    replies = saved_reply.c
    labeling = (replies.workspace_id == workspace_id) & (replies.label_id == label_id)
    modified_on = later(saved_reply, tx.now, is_sqlite=tx.sqlite)
    tx.execute(update(saved_reply).where(labeling).values(label_id=None, modified_on=modified_on))
    _touch_messages(tx, workspace_id, label_id)
    tx.execute(delete(message_label).where(message_label.c.label_id == label_id))
    tx.execute(delete(label).where(label.c.workspace_id == workspace_id, label.c.id == label_id))
    note_deleted(tx, workspace_id, LABEL, [uuid])


def _touch_messages(tx: Transaction, workspace_id: int, label_id: int) -> None:
    """Updates `modified_on` of labeled messages. Messages are locked before labels, in the order of ids."""
    labeled = select(message_label.c.message_id).where(message_label.c.label_id == label_id)
    theirs = (message.c.workspace_id == workspace_id) & message.c.id.in_(labeled)
    held = select(message.c.id).where(theirs).order_by(message.c.id).with_for_update()
    touched = change_messages(tx, workspace_id, message.c.id.in_(held))
    # A transaction that is adding the label to a message is waited for; later ones find the label changed or deleted.
    tx.execute(select(label.c.id).where(label.c.id == label_id).with_for_update())
    if tx.execute(select(func.count()).where(message_label.c.label_id == label_id)).scalar_one() != len(touched):
        raise LostRace
