"""Channel events: calls and other things that happened on a channel beside messages."""

from datetime import datetime

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, String, Table, UniqueConstraint, select, text

from persistence.columns import Json, id_column, is_uuid, metadata, time_column, uuid_column, workspace_column
from persistence.contacts import contact
from persistence.database import Transaction
from persistence.former_channels import SEEN_REF, join_channels
from persistence.pages import Order, Page, Position, fetch_page
from persistence.shapes import declare_record, json_record

CALL_TYPES = {"mo_call": "call-in", "mo_miss": "call-in-missed", "mt_call": "call-out", "mt_miss": "call-out-missed"}
"""The words of phones, webhooks and v1 for calls, and the words of v2, which are stored."""

channel_event = Table(
    "channel_event",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("channel_id", Integer, ForeignKey("channel.id"), nullable=False),
    Column("contact_id", Integer, ForeignKey("contact.id"), nullable=False),
    Column("type", String(16), nullable=False),
    Column("urn", String(255)),
    Column("extra", Json),
    Column("external_id", String(255)),
    time_column("occurred_on"),
    time_column("created_on"),
    Column("is_pending", Boolean, nullable=False, default=False),
    UniqueConstraint("channel_id", "external_id"),
    Index("ix_channel_event_page", "workspace_id", "created_on", "id"),
    Index("ix_channel_event_contact", "contact_id", "created_on", "id"),
    Index("ix_channel_event_calls", "workspace_id", "type", "created_on", "id"),
    Index(
        "ix_channel_event_pending",
        "created_on",
        "id",
        postgresql_where=text("is_pending"),
        sqlite_where=text("is_pending = 1"),
    ),
    sqlite_autoincrement=True,
)
"""`external_id` names a phone's report (number, type and time), unique per channel: a repeat makes no second event.
`is_pending` events are still to be compared with triggers."""

CHANNEL_EVENT_RECORD = declare_record(
    {
        "id": channel_event.c.id,
        "uuid": channel_event.c.uuid,
        "type": channel_event.c.type,
        "contact": json_record({"uuid": contact.c.uuid, "name": contact.c.name}),
        "channel": json_record(SEEN_REF),
        "extra": channel_event.c.extra,
        "occurred_on": channel_event.c.occurred_on,
        "created_on": channel_event.c.created_on,
    }
)

CHANNEL_EVENTS_ORDER = Order(channel_event.c.created_on, channel_event.c.id)
NEVER = channel_event.c.id < 0


def list_channel_events(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    event_id: int | None = None,
    contact_uuid: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Page:
    """The events of a workspace's channels, newest first by the time the service recorded them."""
    conditions = [channel_event.c.workspace_id == workspace_id]
    if event_id is not None:
        conditions.append(channel_event.c.id == event_id)
    if contact_uuid is not None:
        owner = select(contact.c.id).where(contact.c.workspace_id == workspace_id, contact.c.uuid == contact_uuid)
        is_theirs = channel_event.c.contact_id == owner.scalar_subquery()
        conditions.append(is_theirs if is_uuid(contact_uuid) else NEVER)
    if before is not None:
        conditions.append(channel_event.c.created_on <= before)
    if after is not None:
        conditions.append(channel_event.c.created_on >= after)
    source = join_channels(channel_event.join(contact, contact.c.id == channel_event.c.contact_id), channel_event)
    return fetch_page(
        tx,
        record=CHANNEL_EVENT_RECORD,
        source=source,
        source_id=channel_event.c.id,
        order=CHANNEL_EVENTS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )
