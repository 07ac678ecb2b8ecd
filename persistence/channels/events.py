"""Channel events: calls and other events of a channel that are not messages, and the calls that are not yet compared
with triggers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Executable, case, exists, func, null, select

from flows.phones import normalize_number
from persistence.channels.channels import SEEN_ADDRESS, SEEN_NAME, SEEN_REF, SEEN_UUID, join_channels
from persistence.channels.event_form import BEGUN, CALL_TYPES
from persistence.contacts.records import refuse_addresses
from persistence.database import Transaction
from persistence.leases import list_workspaces
from persistence.lists import Condition, ListQuery, ListSpec, belongs_to, equals, one_of, within
from persistence.pages import Order
from persistence.records import Record
from persistence.relayers.relayers import as_e164
from persistence.sessions.parking import find_free_contacts
from persistence.statements import among, statement, update
from persistence.tables.campaigns import trigger
from persistence.tables.channels import channel_event
from persistence.tables.contacts import contact
from persistence.triggers.records import INCOMING_CALL, MISSED_CALL, NEW_CONVERSATION

CHANNEL_EVENT_RECORD = Record(
    {
        "id": channel_event.c.id,
        "uuid": channel_event.c.uuid,
        "type": channel_event.c.type,
        "contact": Record({"uuid": contact.c.uuid, "name": contact.c.name}),
        "channel": Record(SEEN_REF),
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

TRIGGER_TYPES = {
    "call-in": INCOMING_CALL,
    "call-in-missed": MISSED_CALL,
    BEGUN: NEW_CONVERSATION,
}
IS_PENDING: ColumnElement[bool] = channel_event.c.is_pending

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

CALL_RECORD = Record(CALL_FIELDS)
MASKED_CALL_RECORD = Record({**CALL_FIELDS, "phone": null()})
"""The record in an anonymous workspace, which shows no URN."""


@dataclass(frozen=True, slots=True)
class PendingCall:
    """An incoming call, and the type of trigger for it."""

    id: int
    uuid: str
    contact_id: int
    trigger_type: str
    urn: str | None
    channel_uuid: str
    channel_name: str
    occurred_on: datetime


def list_called_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with pending calls."""
    return list_workspaces(tx, channel_event.c.workspace_id, IS_PENDING)


def finish_plain_calls(tx: Transaction, workspace_id: int, limit: int) -> int:
    """Marks the oldest calls of a workspace without a trigger for calls as done; returns their number."""
    may_start = exists().where(
        trigger.c.workspace_id == workspace_id,
        trigger.c.type.in_(TRIGGER_TYPES.values()),
        ~trigger.c.is_archived,
    )
    due = (
        select(channel_event.c.id)
        .where(channel_event.c.workspace_id == workspace_id, IS_PENDING, ~may_start)
        .order_by(channel_event.c.created_on, channel_event.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    ids = list(tx.execute(due).scalars())
    if not ids:
        return 0
    mine = (channel_event.c.workspace_id == workspace_id) & channel_event.c.id.in_(ids)
    done = update(channel_event).where(mine, IS_PENDING).values(is_pending=False)
    return tx.execute(done).rowcount


def find_callers(tx: Transaction, workspace_id: int, limit: int) -> list[int]:
    """Contacts with pending calls that are neither leased nor parked, those that wait longest first."""
    return find_free_contacts(tx, workspace_id, channel_event, IS_PENDING, channel_event.c.created_on, limit)


def load_first_calls(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, PendingCall]:
    """The oldest pending call of each contact, by contact id."""
    rows = channel_event.c
    statement = (
        select(rows.id, rows.uuid, rows.contact_id, rows.type, rows.urn, SEEN_UUID, SEEN_NAME, rows.occurred_on)
        .select_from(join_channels(channel_event, channel_event))
        .where(rows.workspace_id == workspace_id, rows.contact_id.in_(contact_ids), IS_PENDING)
        .order_by(rows.created_on.desc(), rows.id.desc())
    )
    return {
        contact_id: PendingCall(
            event_id, uuid, contact_id, TRIGGER_TYPES[kind], urn, channel_uuid, name or "", occurred_on
        )
        for event_id, uuid, contact_id, kind, urn, channel_uuid, name, occurred_on in tx.execute(statement)
    }


def finish_calls(tx: Transaction, workspace_id: int, event_ids: Collection[int]) -> None:
    """Marks calls as done."""
    mine = (channel_event.c.workspace_id == workspace_id) & channel_event.c.id.in_(sorted(event_ids))
    tx.execute(update(channel_event).where(mine).values(is_pending=False))


def find_pending(tx: Transaction, workspace_ids: Sequence[int], event_ids: Sequence[int]) -> set[int]:
    """Those of these events that are not yet compared with triggers; one statement."""
    found = _select_pending.rows(tx, workspace_ids, event_ids) if event_ids else ()
    return {number for number, is_pending in found if is_pending}


@statement
def _select_pending(workspace_ids: Sequence[int], event_ids: Sequence[int]) -> Executable:
    rows = channel_event.c
    return select(rows.id, rows.is_pending).where(among(rows.workspace_id, workspace_ids), among(rows.id, event_ids))


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
