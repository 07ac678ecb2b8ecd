import re
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    Table,
    Text,
    TypedColumns,
    UniqueConstraint,
)

from persistence.sql.columns import (
    FOUND_BY,
    JsonIndexed,
    UtcDateTime,
    id_column,
    metadata,
    partial_index,
    uuid_column,
    workspace_column,
)

ACTIVE, BLOCKED, STOPPED, ARCHIVED = "active", "blocked", "stopped", "archived"


class ContactColumns(TypedColumns):
    id: Named[int] = id_column()
    uuid: Named[str] = uuid_column()
    workspace_id: Named[int] = workspace_column()
    name: Named[str | None] = Column(String(128))
    language: Named[str | None] = Column(String(3))
    timezone: Named[str | None] = Column(String(64))
    status: Named[str] = Column(String(8), default=ACTIVE)
    is_deleted: Named[bool] = Column(Boolean, default=False)
    fields: Named[Any] = Column(JsonIndexed, nullable=False)
    current_flow_id: Named[int | None] = Column(Integer)
    open_ticket_count: Named[int] = Column(Integer, default=0)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)
    last_seen_on: Named[datetime | None] = Column(UtcDateTime)
    handling_until: Named[datetime | None] = Column(UtcDateTime)


contact = Table(
    "contact",
    metadata,
    ContactColumns,
    Index("ix_contact_page", "workspace_id", "is_deleted", "modified_on", "id"),
    sqlite_autoincrement=True,
    info={FOUND_BY: "is_deleted IN (true, false)"},
)
"""`fields` maps a field's uuid to what the value was read as: {"text", "number", "datetime", "state", "district",
"ward"}. `timezone` is set by flows only. `handling_until` is the lease under which a worker has the contact's turn."""


class ContactUrnColumns(TypedColumns):
    id: Named[int] = id_column()
    workspace_id: Named[int] = workspace_column()
    contact_id: Named[int | None] = Column(Integer, ForeignKey("contact.id"))
    scheme: Named[str] = Column(String(16))
    path: Named[str] = Column(String(255))
    display: Named[str | None] = Column(String(255))
    priority: Named[int] = Column(Integer, default=0)
    channel_id: Named[int | None] = Column(Integer, ForeignKey("channel.id"))


contact_urn = Table(
    "contact_urn",
    metadata,
    ContactUrnColumns,
    UniqueConstraint("workspace_id", "scheme", "path"),
    Index("ix_contact_urn_contact", "contact_id", "priority", "id"),
    sqlite_autoincrement=True,
)
"""Lower `priority` comes first. A URN without contact is free for the next one who claims it."""

CONTACT_REF: dict[str, Any] = {"uuid": contact.c.uuid, "name": contact.c.name}
FIELD_NAME_LENGTH = FIELD_KEY_LENGTH = 36
FIELD_KEY = re.compile(r"[a-z][a-z0-9_]*\Z")


class FieldColumns(TypedColumns):
    id: Named[int] = id_column()
    uuid: Named[str] = uuid_column()
    workspace_id: Named[int] = workspace_column()
    key: Named[str] = Column(String(FIELD_KEY_LENGTH))
    name: Named[str] = Column(String(FIELD_NAME_LENGTH))
    name_key: Named[str] = Column(Text)
    type: Named[str] = Column(String(8))
    is_featured: Named[bool] = Column(Boolean, default=False)
    priority: Named[int] = Column(Integer, default=0)
    agent_access: Named[str] = Column(String(4), default="view")
    created_on: Named[datetime] = Column(UtcDateTime)


field = Table(
    "contact_field",
    metadata,
    FieldColumns,
    Index("uq_contact_field_key", "workspace_id", "key", unique=True),
    Index("uq_contact_field_name", "workspace_id", "name_key", unique=True),
    Index("ix_contact_field_page", "workspace_id", "created_on", "id"),
    sqlite_autoincrement=True,
)
"""`agent_access`: `none` hides the field from agents, `view` lets them read it, `edit` also write it."""

INITIALIZING, EVALUATING, READY = "initializing", "evaluating", "ready"


class GroupColumns(TypedColumns):
    id: Named[int] = id_column()
    uuid: Named[str] = uuid_column()
    workspace_id: Named[int] = workspace_column()
    name: Named[str] = Column(String(64))
    name_key: Named[str] = Column(Text)
    query: Named[str | None] = Column(Text)
    status: Named[str] = Column(String(12), default=READY)
    is_system: Named[bool] = Column(Boolean, default=False)
    member_count: Named[int] = Column(Integer, default=0)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)
    evaluated_until: Named[datetime | None] = Column(UtcDateTime)


group = Table(
    "contact_group",
    metadata,
    GroupColumns,
    partial_index("ix_contact_group_unready", "status", "id", where="status <> 'ready'"),
    Index("uq_contact_group_name", "workspace_id", "name_key", unique=True),
    Index("ix_contact_group_page", "workspace_id", "created_on", "id"),
    sqlite_autoincrement=True,
)

"""`evaluated_until` is the lease under which a worker finds the members of a query group."""


class GroupMembershipColumns(TypedColumns):
    group_id: Named[int] = Column(Integer, ForeignKey("contact_group.id"), primary_key=True)
    contact_id: Named[int] = Column(Integer, ForeignKey("contact.id"), primary_key=True)


group_membership = Table(
    "group_membership", metadata, GroupMembershipColumns, Index("ix_group_membership_contact", "contact_id", "group_id")
)

GROUP_REF: dict[str, Any] = {"uuid": group.c.uuid, "name": group.c.name}
