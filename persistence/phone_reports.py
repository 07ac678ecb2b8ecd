"""SMS and calls that phones report: contacts, messages, channel events and their webhooks, each once."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, cast

from sqlalchemy.dialects import postgresql, sqlite

from flows.phones import normalize_number
from flows.urns import Urn
from persistence.channel_event_form import EventChannel, EventContact, call_fields, message_fields
from persistence.channel_events import CALL_TYPES, channel_event
from persistence.columns import new_uuid
from persistence.contact_urns import UrnOwner, ensure_owners, note_seen, prefer_channel
from persistence.contacts import BLOCKED
from persistence.database import Transaction
from persistence.deliveries import ChannelEvent, record_channel_events
from persistence.incoming import Received, store_received
from persistence.phone_commands import CallReport, SmsReport
from persistence.reported_times import believe

HIDDEN_NUMBERS = ("", "-1", "-2", "-3")

CallName = Literal["mo_miss", "mo_call", "mt_call", "mt_miss"]

TRIGGERING_CALLS = ("mo_call", "mo_miss")
"""Calls of contacts, which may start a flow; calls to them do not."""


def sender_urn(number: str, country: str | None) -> Urn | None:
    """Whose number a phone shows; short codes and sender names count, hidden callers are nobody."""
    if number.strip() in HIDDEN_NUMBERS:
        return None
    path = normalize_number(number, country or "")
    return Urn("tel", path) if path else None


def event_channel(phone: Any) -> EventChannel:
    return EventChannel(phone.id, phone.uuid, phone.address)


def event_contact(owner: UrnOwner) -> EventContact:
    number = owner.urn.partition(":")[2] if owner.urn.startswith("tel:") else None
    return EventContact(owner.uuid, owner.name, owner.urn, number)


def record_sms(tx: Transaction, phone: Any, reports: Sequence[SmsReport]) -> dict[SmsReport, int]:
    """Store incoming SMS, oldest first; the message id of each report, new or repeated.

    What blocked contacts send is dropped. A report without a usable sender gives no message.
    """
    reports = sorted(reports, key=lambda report: report.moment or tx.now)
    urns = {report: sender_urn(report.number, phone.country) for report in reports}
    owners = find_senders(tx, phone, urns.values())
    received: dict[SmsReport, Received] = {}
    for report, urn in urns.items():
        owner = owners.get(urn.identity) if urn is not None else None
        if owner is not None and owner.status != BLOCKED:
            moment = believe(report.moment, tx.now) or tx.now
            name = _fingerprint("sms", owner.urn, _milliseconds(report.moment), report.text)
            received[report] = Received(owner, report.text, moment, name)
    message_ids = announce_received(tx, phone, list(received.values()))
    return {
        report: message_ids[each.external_id]
        for report, each in received.items()
        if each.external_id in message_ids  # the workspace that had this phone before may have it
    }


def announce_received(tx: Transaction, source: Any, received: Sequence[Received]) -> dict[str, int]:
    """Store what came in through a channel and queue an event for each new message; message ids by external id."""
    stored = store_received(tx, source.workspace_id, source.id, received)
    first: dict[str, Received] = {}
    for each in received:
        if each.external_id in stored and stored[each.external_id].is_new:
            first.setdefault(each.external_id, each)
    events = [
        ChannelEvent("mo_sms", _sms_fields(source, each, stored[each.external_id].message_id), each.owner.contact_id)
        for each in first.values()
    ]
    record_channel_events(tx, source.workspace_id, source.id, events)
    return {external_id: each.message_id for external_id, each in stored.items()}


def _sms_fields(phone: Any, received: Received, message_id: int) -> Any:
    return message_fields(
        "mo_sms",
        event_channel(phone),
        event_contact(received.owner),
        message_id=message_id,
        text=received.text,
        time=received.received_on,
    )


def record_calls(tx: Transaction, phone: Any, reports: Sequence[CallReport]) -> None:
    """Store calls as channel events; a repeat in this or a later sync makes no second one."""
    urns = {report: sender_urn(report.number, phone.country) for report in reports}
    owners = find_senders(tx, phone, urns.values())
    rows: dict[str, dict[str, Any]] = {}
    calls: dict[str, tuple[CallReport, UrnOwner]] = {}
    for report, urn in urns.items():
        owner = owners.get(urn.identity) if urn is not None else None
        if owner is not None:
            name = _fingerprint("call", owner.urn, report.kind, _milliseconds(report.moment))
            rows[name] = _call_row(tx, phone, report, owner, name)
            calls[name] = (report, owner)
    if not rows:
        return
    insert_row = sqlite.insert if tx.sqlite else postgresql.insert
    columns = channel_event.c
    statement = (
        insert_row(channel_event)
        .values(list(rows.values()))
        .on_conflict_do_nothing(index_elements=[columns.channel_id, columns.external_id])
        .returning(columns.id, columns.external_id)
    )
    events = []
    for event_id, name in tx.execute(statement).all():
        report, owner = calls[name]
        fields = call_fields(
            cast(CallName, report.kind),
            event_channel(phone),
            event_contact(owner),
            call_id=event_id,
            time=rows[name]["occurred_on"],
            duration_seconds=report.duration_seconds,
        )
        events.append(ChannelEvent(report.kind, fields, owner.contact_id))
    record_channel_events(tx, phone.workspace_id, phone.id, events)
    tx.wake("calls")


def _call_row(tx: Transaction, phone: Any, report: CallReport, owner: UrnOwner, name: str) -> dict[str, Any]:
    missed = report.kind in ("mo_miss", "mt_miss")
    return {
        "uuid": new_uuid(),
        "workspace_id": phone.workspace_id,
        "channel_id": phone.id,
        "contact_id": owner.contact_id,
        "type": CALL_TYPES[report.kind],
        "urn": owner.urn,
        "extra": {"duration": 0 if missed else report.duration_seconds},
        "external_id": name,
        "occurred_on": believe(report.moment, tx.now) or tx.now,
        "created_on": tx.now,
        "is_pending": report.kind in TRIGGERING_CALLS,
    }


def find_senders(tx: Transaction, phone: Any, urns: Iterable[Urn | None]) -> dict[str, UrnOwner]:
    """The contacts behind these numbers, from now on seen just now and answered through this phone."""
    wanted = [urn for urn in urns if urn is not None]
    if not wanted:
        return {}
    owners = ensure_owners(tx, phone.workspace_id, wanted, channel_id=phone.id)
    welcome = [owner for owner in owners.values() if owner.status != BLOCKED]
    note_seen(tx, phone.workspace_id, sorted({owner.contact_id for owner in welcome}))
    prefer_channel(tx, phone.workspace_id, sorted(owner.urn_id for owner in welcome), phone.id)
    return owners


def _milliseconds(moment: datetime | None) -> str:
    return "" if moment is None else str(int(moment.timestamp() * 1000))


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()
