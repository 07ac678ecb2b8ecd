"""Calls as v1 shows them: the channel events of the four call types."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, case, func, null

from flows.phones import normalize_number
from persistence.channels.events import CALL_TYPES, CHANNEL_EVENTS
from persistence.channels.states import SEEN_ADDRESS
from persistence.contacts.v2 import refuse_addresses
from persistence.lists import Condition, ListQuery, one_of, within
from persistence.relayers.relayers import as_e164
from persistence.sql.json_sql import declare_record
from persistence.tables.channels import channel_event
from persistence.tables.contacts import contact

TEL = "tel:"

CALL_FIELDS: dict[str, ColumnElement[Any]] = {
    "call": channel_event.c.id,
    "contact": contact.c.uuid,
    "relayer": channel_event.c.channel_id,
    "relayer_phone": SEEN_ADDRESS,
    "phone": case((channel_event.c.urn.startswith(TEL), func.substr(channel_event.c.urn, len(TEL) + 1)), else_=null()),
    "created_on": channel_event.c.occurred_on,
    "duration": func.coalesce(channel_event.c.extra["duration"].as_integer(), 0),
    "call_type": case({stored: word for word, stored in CALL_TYPES.items()}, value=channel_event.c.type),
}

CALL_RECORD = declare_record(CALL_FIELDS)
MASKED_CALL_RECORD = declare_record({**CALL_FIELDS, "phone": null()})
"""The record in an anonymous workspace, which shows no URN."""


def _of_types(query: ListQuery) -> list[Condition]:
    words = query.values.get("call_type", CALL_TYPES)
    return [channel_event.c.type.in_([CALL_TYPES[word] for word in words])]


def _of_phones(query: ListQuery, phones: Sequence[str]) -> Condition:
    refuse_addresses(query, "phone")
    wanted = [*phones, *(normalize_number(text, query.workspace.country) for text in phones)]
    # Short codes and sender names have no country code.
    forms = [form for phone in wanted for form in (as_e164(phone), phone.strip().lower())]
    return channel_event.c.urn.in_([TEL + form for form in forms])


CALLS = replace(
    CHANNEL_EVENTS,
    record=CALL_RECORD,
    masked=MASKED_CALL_RECORD,
    standing=_of_types,
    options=frozenset({"call_type"}),
    filters={
        "call": one_of(channel_event.c.id),
        "phone": _of_phones,
        "relayer": one_of(channel_event.c.channel_id),
        **within(channel_event.c.created_on),
    },
)
