"""Phones as v1 shows them: the record and its filters."""

from sqlalchemy import and_

from persistence.channels.states import IS_RELAYER
from persistence.errors import RecordMissing, Refused
from persistence.lists import ListQuery, ListSpec, one_of, within
from persistence.messages.states import PENDING_COUNT
from persistence.relayers.relayers import release_channels
from persistence.sql.json_sql import declare_record
from persistence.sql.pages import Order
from persistence.tables.channels import channel

RELAYER_RECORD = declare_record(
    {
        "relayer": channel.c.id,
        "phone": channel.c.address,
        "name": channel.c.name,
        "country": channel.c.country,
        "last_seen": channel.c.last_seen,
        "power_level": channel.c.power_level,
        "power_status": channel.c.power_status,
        "power_source": channel.c.power_source,
        "network_type": channel.c.network_type,
        "pending_message_count": PENDING_COUNT,
    }
)


def as_e164(text: str) -> str:
    """A number from a query, where an unescaped `+` has become a space, with its `+`."""
    return "+" + text.strip().lstrip("+")


RELAYERS = ListSpec(
    channel,
    RELAYER_RECORD,
    Order(channel.c.last_seen, channel.c.id),
    standing=[channel.c.is_active, IS_RELAYER],
    filters={
        "relayer": one_of(channel.c.id),
        "phone": lambda _query, phones: channel.c.address.in_([as_e164(phone) for phone in phones]),
        "country": lambda _query, countries: channel.c.country.in_([country.upper() for country in countries]),
        **within(channel.c.last_seen),
    },
)


def release_relayers(query: ListQuery) -> None:
    """Release the active phones that match; their unsent messages fail. Raises Refused for a query without filters, so
    that a mistake cannot release all phones, and RecordMissing if no phone matches.
    """
    if not query.values:
        raise Refused("One of these parameters is required: after, before, country, phone, relayer.")
    if not release_channels(query.tx, query.workspace.id, and_(IS_RELAYER, *RELAYERS.asked(query))):
        raise RecordMissing
