"""Channel events: calls and other things that happened on a channel beside messages."""

from sqlalchemy import Column, ForeignKey, Index, Integer, String, Table, UniqueConstraint

from persistence.columns import Json, id_column, metadata, time_column, uuid_column, workspace_column

channel_event = Table(
    "channel_event",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("channel_id", Integer, ForeignKey("channel.id"), nullable=False),
    Column("contact_id", Integer, ForeignKey("contact.id")),
    Column("type", String(16), nullable=False),
    Column("urn", String(255)),
    Column("extra", Json),
    Column("external_id", String(255)),
    time_column("occurred_on"),
    time_column("created_on"),
    UniqueConstraint("channel_id", "external_id"),
    Index("ix_channel_event_page", "workspace_id", "created_on", "id"),
    Index("ix_channel_event_contact", "contact_id", "created_on", "id"),
    Index("ix_channel_event_calls", "workspace_id", "type", "created_on", "id"),
    sqlite_autoincrement=True,
)
"""`external_id` names a phone's report (number, type and time), unique per channel: a repeat makes no second event."""

CALL_TYPES = {"mo_call": "call-in", "mo_miss": "call-in-missed", "mt_call": "call-out", "mt_miss": "call-out-missed"}
