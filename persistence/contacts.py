"""Contacts, their URNs and memberships: the tables and the v2 record."""

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    select,
)

from persistence.columns import JsonIndexed, id_column, metadata, time_column, uuid_column, workspace_column
from persistence.database import Transaction
from persistence.stamps import FOUND_BY

ACTIVE, BLOCKED, STOPPED, ARCHIVED = "active", "blocked", "stopped", "archived"

contact = Table(
    "contact",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("name", String(128)),
    Column("language", String(3)),
    Column("timezone", String(64)),
    Column("status", String(8), nullable=False, default=ACTIVE),
    Column("is_deleted", Boolean, nullable=False, default=False),
    Column("fields", JsonIndexed, nullable=False),
    Column("current_flow_id", Integer),
    Column("open_ticket_count", Integer, nullable=False, default=0),
    time_column("created_on"),
    time_column("modified_on"),
    time_column("last_seen_on", nullable=True),
    time_column("handling_until", nullable=True),
    Index("ix_contact_page", "workspace_id", "is_deleted", "modified_on", "id"),
    sqlite_autoincrement=True,
    info={FOUND_BY: "is_deleted IN (true, false)"},
)
"""`fields` maps a field's uuid to what the value was read as: {"text", "number", "datetime", "state", "district",
"ward"}. `timezone` is set by flows only. `handling_until` is the lease under which a worker has the contact's turn."""

contact_urn = Table(
    "contact_urn",
    metadata,
    id_column(),
    workspace_column(),
    Column("contact_id", Integer, ForeignKey("contact.id")),
    Column("scheme", String(16), nullable=False),
    Column("path", String(255), nullable=False),
    Column("display", String(255)),
    Column("priority", Integer, nullable=False, default=0),
    Column("channel_id", Integer, ForeignKey("channel.id")),
    UniqueConstraint("workspace_id", "scheme", "path"),
    Index("ix_contact_urn_contact", "contact_id", "priority", "id"),
    sqlite_autoincrement=True,
)
"""Lower `priority` comes first. A URN without contact is free for the next one who claims it."""

CONTACT_REF: dict[str, Any] = {"uuid": contact.c.uuid, "name": contact.c.name}


def find_contact(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of a contact that is not deleted."""
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.uuid == uuid) & ~contact.c.is_deleted
    contact_id: int | None = tx.execute(select(contact.c.id).where(mine)).scalar_one_or_none()
    return contact_id
