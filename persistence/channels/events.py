"""Channel events: calls and other things that happened on a channel beside messages."""

from datetime import datetime

from sqlalchemy import select

from persistence.channels.former_channels import SEEN_REF, join_channels
from persistence.database import Transaction
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import declare_record, json_record
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.channels import channel_event
from persistence.tables.contacts import contact

CALL_TYPES = {"mo_call": "call-in", "mo_miss": "call-in-missed", "mt_call": "call-out", "mt_miss": "call-out-missed"}
"""The words of phones, webhooks and v1 for calls, and the words of v2, which are stored."""

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
