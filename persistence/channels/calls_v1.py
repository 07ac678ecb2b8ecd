"""Calls as v1 shows them: the channel events of the four call types."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case, func, null

from persistence.channels.events import CALL_TYPES, CHANNEL_EVENTS_ORDER
from persistence.channels.former_channels import SEEN_ADDRESS, join_channels
from persistence.database import Transaction
from persistence.relayers.v1 import as_e164
from persistence.sql.json_sql import declare_record
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
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
"""The record in an anonymous workspace, which shows no address."""

SOURCE = join_channels(channel_event.join(contact, contact.c.id == channel_event.c.contact_id), channel_event)


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which calls are meant, types in the words of v1; None and empty lists leave a property open."""

    ids: Sequence[int] | None = None
    types: Sequence[str] | None = None
    phones: Sequence[str] | None = None
    channel_ids: Sequence[int] | None = None
    before: datetime | None = None
    after: datetime | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        rows = channel_event.c
        found: list[ColumnElement[bool]] = [rows.type.in_([CALL_TYPES[word] for word in self.types or CALL_TYPES])]
        if self.ids:
            found.append(rows.id.in_(self.ids))
        if self.phones:
            # Short codes and sender names call without a country code.
            forms = [form for phone in self.phones for form in (as_e164(phone), phone.strip().lower())]
            found.append(rows.urn.in_([TEL + form for form in forms]))
        if self.channel_ids:
            found.append(rows.channel_id.in_(self.channel_ids))
        if self.before is not None:
            found.append(rows.created_on <= self.before)
        if self.after is not None:
            found.append(rows.created_on >= self.after)
        return found


def list_calls(
    tx: Transaction, workspace_id: int, wanted: CallFilter, number: int, size: int, *, masked: bool = False
) -> NumberedPage:
    """The calls of a workspace that fit, the one recorded last first."""
    return fetch_numbered_page(
        tx,
        record=MASKED_CALL_RECORD if masked else CALL_RECORD,
        source=SOURCE,
        order=CHANNEL_EVENTS_ORDER,
        conditions=[channel_event.c.workspace_id == workspace_id, *wanted.conditions()],
        number=number,
        size=size,
    )
