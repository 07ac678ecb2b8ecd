"""Message labels."""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, insert, select

from persistence.columns import (
    id_column,
    metadata,
    name_columns,
    new_uuid,
    time_column,
    uuid_column,
    workspace_column,
)
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.names import check_name, check_name_is_free, check_room, name_key
from persistence.pages import Order, Page, Position, fetch_page
from persistence.shapes import as_text, declare_record
from persistence.workspaces import hold_workspace

label = Table(
    "label",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    *name_columns(),
    Column("message_count", Integer, nullable=False, default=0),
    time_column("created_on"),
    Index("uq_label_name", "workspace_id", "name_key", unique=True),
    Index("ix_label_page", "workspace_id", "created_on", "id"),
    sqlite_autoincrement=True,
)
"""`message_count` counts visible messages and changes in the transaction that labels, archives or deletes them."""

message_label = Table(
    "message_label",
    metadata,
    Column("message_id", Integer, ForeignKey("message.id"), primary_key=True),
    Column("label_id", Integer, ForeignKey("label.id"), primary_key=True),
    time_column("created_on"),
    Index("ix_message_label_page", "label_id", "created_on", "message_id"),
)
"""`created_on` is the message's, which never changes: the label's messages are paged by this index alone."""

LABEL_RECORD = declare_record({"uuid": label.c.uuid, "name": label.c.name, "count": label.c.message_count})

LABELS_ORDER = Order(label.c.created_on, label.c.id)


def list_labels(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    name: str | None = None,
) -> Page:
    """The labels of a workspace, newest first; `name` matches whole names of any case."""
    conditions = [label.c.workspace_id == workspace_id]
    if uuid is not None:
        conditions.append(label.c.uuid == uuid)
    if name is not None:
        conditions.append(label.c.name_key == name_key(name.strip()))
    return fetch_page(
        tx,
        record=LABEL_RECORD,
        source=label,
        source_id=label.c.id,
        order=LABELS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def read_label(tx: Transaction, workspace_id: int, label_id: int) -> str:
    """One label record as JSON text."""
    statement = select(as_text(LABEL_RECORD)).where(label.c.workspace_id == workspace_id, label.c.id == label_id)
    document: str = tx.execute(statement).scalar_one()
    return document


def find_label(tx: Transaction, workspace_id: int, reference: str) -> int | None:
    """The id of the label with this uuid, else with this name (any case)."""
    from persistence.columns import is_uuid

    by_uuid = label.c.uuid == reference if is_uuid(reference) else label.c.id < 0
    statement = (
        select(label.c.id)
        .where(label.c.workspace_id == workspace_id, by_uuid | (label.c.name_key == name_key(reference.strip())))
        .order_by(by_uuid.desc())
    )
    return tx.execute(statement).scalars().first()


def find_label_by_name(tx: Transaction, workspace_id: int, name: str) -> int | None:
    """The id of the label with this name (any case)."""
    mine = (label.c.workspace_id == workspace_id) & (label.c.name_key == name_key(name.strip()))
    label_id: int | None = tx.execute(select(label.c.id).where(mine)).scalar_one_or_none()
    return label_id


def ensure_label(tx: Transaction, workspace_id: int, name: str, *, field: str = "name") -> int:
    """The id of the label with this name (any case), which is made when there is none.

    Raises InvalidInput for a bad name, LimitReached when full.
    """
    label_id = find_label_by_name(tx, workspace_id, name)
    if label_id is None:
        hold_workspace(tx, workspace_id)
        label_id = find_label_by_name(tx, workspace_id, name)
    return create_label(tx, workspace_id, name, field=field) if label_id is None else label_id


def create_label(tx: Transaction, workspace_id: int, name: str, *, field: str = "name") -> int:
    """A new label; returns its id. Raises InvalidInput for a bad or taken name, LimitReached when full."""
    hold_workspace(tx, workspace_id)
    name = check_name(name, field)
    check_name_is_free(tx, workspace_id, label, name, field=field)
    check_room(tx, workspace_id, label)
    values = {"uuid": new_uuid(), "name": name, "name_key": name_key(name), "created_on": tx.now}
    statement = insert(label).values(workspace_id=workspace_id, **values).returning(label.c.id)
    label_id: int = tx.execute(statement).scalar_one()
    return label_id


def require_label(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """The id of the label with this uuid. Raises RecordMissing."""
    statement = select(label.c.id).where(label.c.workspace_id == workspace_id, label.c.uuid == uuid)
    label_id: int | None = tx.execute(statement).scalar_one_or_none()
    if label_id is None:
        raise RecordMissing
    return label_id
