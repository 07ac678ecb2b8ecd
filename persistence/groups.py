"""Contact groups: manual ones, smart ones with a query, and the system's own."""

from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, String, Table, Text, insert, select, text

from persistence.columns import id_column, metadata, name_columns, new_uuid, time_column, uuid_column, workspace_column
from persistence.database import Transaction
from persistence.errors import RecordMissing, SystemRecord
from persistence.names import check_name, check_name_is_free, check_room, name_key
from persistence.pages import Order, Page, Position, fetch_page
from persistence.shapes import as_text, declare_record
from persistence.workspaces import hold_workspace

INITIALIZING, EVALUATING, READY = "initializing", "evaluating", "ready"
OPEN_TICKETS = "Open Tickets"

group = Table(
    "contact_group",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    *name_columns(),
    Column("query", Text),
    Column("status", String(12), nullable=False, default=READY),
    Column("is_system", Boolean, nullable=False, default=False),
    Column("member_count", Integer, nullable=False, default=0),
    time_column("created_on"),
    time_column("modified_on"),
    time_column("evaluated_until", nullable=True),
    Index(
        "ix_contact_group_unready",
        "status",
        "id",
        postgresql_where=text("status <> 'ready'"),
        sqlite_where=text("status <> 'ready'"),
    ),
    Index("uq_contact_group_name", "workspace_id", "name_key", unique=True),
    Index("ix_contact_group_page", "workspace_id", "created_on", "id"),
    sqlite_autoincrement=True,
)

"""`evaluated_until` is the lease under which a worker finds the members of a query group."""

group_membership = Table(
    "group_membership",
    metadata,
    Column("group_id", Integer, ForeignKey("contact_group.id"), primary_key=True),
    Column("contact_id", Integer, ForeignKey("contact.id"), primary_key=True),
    Index("ix_group_membership_contact", "contact_id", "group_id"),
)

GROUP_REF: dict[str, Any] = {"uuid": group.c.uuid, "name": group.c.name}

GROUP_RECORD = declare_record(
    {
        "uuid": group.c.uuid,
        "name": group.c.name,
        "query": group.c.query,
        "status": group.c.status,
        "system": group.c.is_system,
        "count": group.c.member_count,
    }
)

GROUPS_ORDER = Order(group.c.created_on, group.c.id)


def create_system_groups(tx: Transaction, workspace_id: int) -> None:
    """The groups every workspace has from its beginning."""
    values = {"uuid": new_uuid(), "name": OPEN_TICKETS, "name_key": name_key(OPEN_TICKETS), "query": "tickets > 0"}
    times = {"created_on": tx.now, "modified_on": tx.now}
    tx.execute(insert(group).values(workspace_id=workspace_id, is_system=True, **values, **times))


def list_groups(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    name: str | None = None,
) -> Page:
    """The groups of a workspace, newest first; `name` matches whole names of any case."""
    conditions = [group.c.workspace_id == workspace_id]
    if uuid is not None:
        conditions.append(group.c.uuid == uuid)
    if name is not None:
        conditions.append(group.c.name_key == name_key(name.strip()))
    return fetch_page(
        tx,
        record=GROUP_RECORD,
        source=group,
        source_id=group.c.id,
        order=GROUPS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def read_group(tx: Transaction, workspace_id: int, group_id: int) -> str:
    """One group record as JSON text."""
    statement = select(as_text(GROUP_RECORD)).where(group.c.workspace_id == workspace_id, group.c.id == group_id)
    document: str = tx.execute(statement).scalar_one()
    return document


def create_group(tx: Transaction, workspace_id: int, name: str) -> int:
    """A new manual group; returns its id. Raises InvalidInput for a bad or taken name, LimitReached when full."""
    hold_workspace(tx, workspace_id)
    name = check_name(name)
    check_name_is_free(tx, workspace_id, group, name)
    check_room(tx, workspace_id, group, ~group.c.is_system)
    values = {"uuid": new_uuid(), "name": name, "name_key": name_key(name), "status": READY, "is_system": False}
    times = {"created_on": tx.now, "modified_on": tx.now}
    statement = insert(group).values(workspace_id=workspace_id, **values, **times).returning(group.c.id)
    group_id: int = tx.execute(statement).scalar_one()
    return group_id


def find_editable(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """The id of a group that is not the system's. Raises RecordMissing or SystemRecord."""
    statement = select(group.c.id, group.c.is_system).where(group.c.workspace_id == workspace_id, group.c.uuid == uuid)
    row = tx.execute(statement).first()
    if row is None:
        raise RecordMissing
    if row.is_system:
        raise SystemRecord
    group_id: int = row.id
    return group_id
