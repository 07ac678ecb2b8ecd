"""Channel events: calls and other events of a channel that are not messages."""

from persistence.channels.former_channels import SEEN_REF, join_channels
from persistence.lists import ListSpec, belongs_to, equals, within
from persistence.sql.json_sql import declare_record, json_record
from persistence.sql.pages import Order
from persistence.tables.channels import channel_event
from persistence.tables.contacts import contact

CALL_TYPES = {"mo_call": "call-in", "mo_miss": "call-in-missed", "mt_call": "call-out", "mt_miss": "call-out-missed"}
"""The call types of phones, webhooks and v1, and those of v2, which are stored."""

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

CHANNEL_EVENTS = ListSpec(
    channel_event,
    CHANNEL_EVENT_RECORD,
    Order(channel_event.c.created_on, channel_event.c.id),
    source=join_channels(channel_event.join(contact, contact.c.id == channel_event.c.contact_id), channel_event),
    filters={
        "id": equals(channel_event.c.id),
        "contact": belongs_to(channel_event.c.contact_id, contact),
        **within(channel_event.c.created_on),
    },
)
"""Newest first by the time when the service recorded them."""
