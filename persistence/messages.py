"""Messages in both directions: the table and the v2 record."""

from typing import Any

from sqlalchemy import (
    BindParameter,
    CheckConstraint,
    Column,
    ColumnElement,
    Computed,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    literal,
    literal_column,
    text,
)

from persistence.columns import Json, id_column, metadata, time_column, uuid_column, workspace_column

INCOMING, OUTGOING = "in", "out"
QUEUED, HANDLED, WIRED, SENT = "queued", "handled", "wired", "sent"
DELIVERED, READ, ERRORED, FAILED = "delivered", "read", "errored", "failed"
STATUSES = (QUEUED, HANDLED, WIRED, SENT, DELIVERED, READ, ERRORED, FAILED)
VISIBLE, ARCHIVED, DELETED = "visible", "archived", "deleted"

FOLDER_RULE = """CASE
 WHEN direction = 'in' AND visibility = 'visible' AND status = 'handled' AND flow_id IS NULL THEN 'inbox'
 WHEN direction = 'in' AND visibility = 'visible' AND status = 'handled' THEN 'flows'
 WHEN direction = 'in' AND visibility = 'archived' AND status = 'handled' THEN 'archived'
 WHEN direction = 'out' AND visibility = 'visible' AND status IN ('queued', 'errored') THEN 'outbox'
 WHEN direction = 'out' AND visibility = 'visible' AND status IN ('wired', 'sent', 'delivered', 'read') THEN 'sent'
 WHEN direction = 'out' AND visibility = 'visible' AND status = 'failed' THEN 'failed'
 END"""

message = Table(
    "message",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("contact_id", Integer, ForeignKey("contact.id"), nullable=False),
    Column("urn", String(255)),
    Column("channel_id", Integer, ForeignKey("channel.id")),
    Column("broadcast_id", Integer),
    Column("flow_id", Integer),
    Column("direction", String(3), nullable=False),
    Column("type", String(5), nullable=False, default="text"),
    Column("status", String(9), nullable=False),
    Column("visibility", String(8), nullable=False, default=VISIBLE),
    Column("text", Text, nullable=False, default=""),
    Column("attachments", Json, nullable=False),
    Column("quick_replies", Json, nullable=False),
    Column("external_id", String(255)),
    Column("failed_reason", String(16)),
    Column("error_count", Integer, nullable=False, default=0),
    time_column("offered_on", nullable=True),
    time_column("reported_on", nullable=True),
    time_column("created_on"),
    time_column("stored_on", nullable=True),
    time_column("sent_on", nullable=True),
    time_column("modified_on"),
    Column("folder", String(8), Computed(FOLDER_RULE, persisted=True)),
    UniqueConstraint("channel_id", "direction", "external_id"),
    CheckConstraint("direction IN ('in', 'out')", name="direction"),
    CheckConstraint("visibility IN ('visible', 'archived', 'deleted')", name="visibility"),
    Index("ix_message_page", "workspace_id", "created_on", "id"),
    Index("ix_message_folder", "workspace_id", "folder", "created_on", "id"),
    Index(
        "ix_message_sent",
        "workspace_id",
        "sent_on",
        "id",
        postgresql_where=text("folder = 'sent'"),
        sqlite_where=text("folder = 'sent'"),
    ),
    Index("ix_message_contact", "contact_id", "created_on", "id"),
    Index(
        "ix_message_broadcast",
        "broadcast_id",
        "created_on",
        "id",
        postgresql_where=text("broadcast_id IS NOT NULL"),
        sqlite_where=text("broadcast_id IS NOT NULL"),
    ),
    Index(
        "ix_message_flow",
        "flow_id",
        "created_on",
        "id",
        postgresql_where=text("flow_id IS NOT NULL"),
        sqlite_where=text("flow_id IS NOT NULL"),
    ),
    Index(
        "ix_message_outbox",
        "channel_id",
        "created_on",
        "id",
        postgresql_where=text("direction = 'out' AND status IN ('queued', 'wired', 'errored')"),
        sqlite_where=text("direction = 'out' AND status IN ('queued', 'wired', 'errored')"),
    ),
    Index(
        "ix_message_undelivered",
        "broadcast_id",
        postgresql_where=text("broadcast_id IS NOT NULL AND status NOT IN ('delivered', 'read')"),
        sqlite_where=text("broadcast_id IS NOT NULL AND status NOT IN ('delivered', 'read')"),
    ),
    Index(
        "ix_message_unhandled",
        "created_on",
        "id",
        postgresql_where=text("direction = 'in' AND status = 'queued'"),
        sqlite_where=text("direction = 'in' AND status = 'queued'"),
    ),
    sqlite_autoincrement=True,
)
"""`external_id` is the sender's own name for a message (for a phone: number, time and text hashed), unique per channel
and direction, so that a repeated report makes no second message. `failed_reason` says why a message failed.
`stored_on` is our own time of storing where `created_on` is a channel's, null where both are ours. `offered_on` is when
a phone was first asked to send it, `reported_on` the phone's time of its last report about it."""


def _listed(*statuses: str) -> ColumnElement[bool]:
    listed: BindParameter[Any] = bindparam(None, statuses, expanding=True, literal_execute=True)
    return message.c.status.in_(listed)


IS_UNSENT = (message.c.direction == literal(OUTGOING, literal_execute=True)) & _listed(QUEUED, WIRED, ERRORED)
IS_UNHANDLED = (message.c.direction == literal(INCOMING, literal_execute=True)) & (
    message.c.status == literal(QUEUED, literal_execute=True)
)
IS_UNDELIVERED = message.c.status.not_in([literal_column(f"'{status}'") for status in (DELIVERED, READ)])
"""Conditions of partial indexes, written out in statements: SQLite uses such an index only when it sees them."""
