"""SMS and calls that phones report: contacts, messages, channel events and their webhooks, each once."""

import hashlib
from collections.abc import Collection, Sequence, Set
from datetime import datetime
from functools import lru_cache
from typing import Any

from flows.phones import SENDER_NAME_LENGTH_MAX, normalize_number
from flows.urns import Urn
from persistence.channels.channels import Source
from persistence.channels.event_form import EventContact, call_fields, message_fields
from persistence.channels.events import CALL_TYPES
from persistence.contacts.owners import UrnOwner
from persistence.contacts.urns import ensure_owners, hold_in_order, note_seen, prefer_channel
from persistence.database import Transaction
from persistence.deliveries.outbox import ChannelEvent, record_channel_events
from persistence.messages.incoming import Received, find_known_messages, store_received
from persistence.relayers.commands import CallReport, SmsReport, believe
from persistence.relayers.forgotten_reports import find_known_calls
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel_event
from persistence.tables.contacts import BLOCKED

HIDDEN_NUMBERS = ("", "-1", "-2", "-3")

UNKNOWN_SENDER = Urn("tel", "unknown")
"""Whoever sends an SMS without a number, or with one that has neither letters nor digits."""

SENDERS_KEPT = 20_000
"""Numbers that were read lately: to read them is a fifth of the work for their SMS, and senders write again."""

TRIGGERING_CALLS = ("mo_call", "mo_miss")
"""Calls by contacts, which may start a flow; calls to contacts do not."""


@lru_cache(maxsize=SENDERS_KEPT)
def sender_urn(number: str, country: str | None) -> Urn | None:
    """The URN for the number that a phone shows; short codes and sender names are valid, hidden callers have none."""
    if number.strip() in HIDDEN_NUMBERS:
        return None
    path = normalize_number(number, country or "")[:SENDER_NAME_LENGTH_MAX]
    return Urn("tel", path) if path else None


def sender_of(number: str, country: str | None) -> Urn:
    """The URN of who sent an SMS. No SMS is dropped for its sender: those that hide it are one contact."""
    return sender_urn(number, country) or UNKNOWN_SENDER


def _in_events(owner: UrnOwner) -> EventContact:
    return EventContact(owner.uuid, owner.name, owner.urn)


def record_sms(tx: Transaction, phone: Source, reports: Sequence[SmsReport]) -> dict[SmsReport, int]:
    """Store incoming SMS, oldest first; returns the message id of each report, new or repeated. Messages from blocked
    contacts are dropped, and what another workspace got when it had the phone. A repeat changes nothing, whatever
    happened to its contact.
    """
    named: dict[str, tuple[SmsReport, Urn]] = {}
    names: dict[SmsReport, str] = {}
    for report in sorted(reports, key=lambda report: report.moment or tx.now):
        urn = sender_of(report.number, phone.country)
        names[report] = _fingerprint("sms", urn.identity, _milliseconds(report.moment), report.text)
        named[names[report]] = (report, urn)
    known = find_known_messages(tx, phone.id, named) if named else {}
    new = {name: each for name, each in named.items() if name not in known}
    owners = find_senders(tx, phone, [urn for _, urn in new.values()])
    received = [
        Received(owner, report.text, believe(report.moment, tx.now) or tx.now, name)
        for name, (report, urn) in new.items()
        if (owner := owners[urn.identity]).status != BLOCKED
    ]
    message_ids = announce_received(tx, phone, received)
    message_ids |= {name: number for name, (owner_id, number) in known.items() if owner_id == phone.workspace_id}
    return {report: message_ids[name] for report, name in names.items() if name in message_ids}


def announce_received(tx: Transaction, source: Source, received: Sequence[Received]) -> dict[str, int]:
    """Store messages that came in through a channel and queue an event for each new one; returns message ids by
    external id."""
    stored = store_received(tx, source.workspace_id, source.id, received)
    events = []
    for each in received:
        known = stored.get(each.external_id)
        if known is not None and known.is_new:
            fields = message_fields(
                "mo_sms",
                source.in_events,
                _in_events(each.owner),
                message_id=known.message_id,
                text=each.text,
                time=each.received_on,
            )
            events.append(ChannelEvent("mo_sms", fields, each.owner.contact_id))
    record_channel_events(tx, source.workspace_id, source.id, events)
    return {external_id: each.message_id for external_id, each in stored.items()}


def record_calls(tx: Transaction, phone: Source, reports: Sequence[CallReport]) -> None:
    """Store calls as channel events; a repeat in this or a later sync creates no second event."""
    named: dict[str, tuple[CallReport, Urn]] = {}
    for report in reports:
        urn = sender_urn(report.number, phone.country)
        if urn is not None:
            named[_fingerprint("call", urn.identity, report.kind, _milliseconds(report.moment))] = (report, urn)
    known = find_known_calls(tx, phone.id, named) if named else set()
    new = {name: each for name, each in named.items() if name not in known}
    if not new:
        return
    owners = find_callers(tx, phone, new.values())
    calls = {name: (report, owners[urn.identity]) for name, (report, urn) in new.items()}
    rows = {name: _call_row(tx, phone, report, owner, name) for name, (report, owner) in calls.items()}
    columns = channel_event.c
    statement = (
        tx.upsert(channel_event)
        .values(list(rows.values()))
        .on_conflict_do_nothing(index_elements=[columns.channel_id, columns.external_id, columns.workspace_id])
        .returning(columns.id, columns.external_id)
    )
    events = []
    for event_id, name in tx.execute(statement).all():
        assert name is not None, "calls of phones are stored by name"
        report, owner = calls[name]
        fields = call_fields(
            report.kind,
            phone.in_events,
            _in_events(owner),
            call_id=event_id,
            time=rows[name]["occurred_on"],
            duration_seconds=report.duration_seconds,
        )
        events.append(ChannelEvent(report.kind, fields, owner.contact_id))
    record_channel_events(tx, phone.workspace_id, phone.id, events)
    tx.wake("calls")


def _call_row(tx: Transaction, phone: Source, report: CallReport, owner: UrnOwner, name: str) -> dict[str, Any]:
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


def find_senders(tx: Transaction, phone: Source, urns: Collection[Urn]) -> dict[str, UrnOwner]:
    """The contacts who write from these numbers: they are seen now, become active again and get replies through this
    phone."""
    return _find_owners(tx, phone, urns, {urn.identity for urn in urns}, revives=True) if urns else {}


def find_callers(tx: Transaction, phone: Source, calls: Collection[tuple[CallReport, Urn]]) -> dict[str, UrnOwner]:
    """The contacts of calls, who get replies through this phone; callers are seen now."""
    calling = {urn.identity for report, urn in calls if report.kind in TRIGGERING_CALLS}
    return _find_owners(tx, phone, [urn for _, urn in calls], calling, revives=False)


def _find_owners(
    tx: Transaction, phone: Source, urns: Collection[Urn], seen: Collection[str], *, revives: bool
) -> dict[str, UrnOwner]:
    owners = ensure_owners(tx, phone.workspace_id, urns, channel_id=phone.id, seen=seen)
    # New contacts were stored as seen now, through this phone.
    welcome = {name: owner for name, owner in owners.items() if owner.status != BLOCKED and not owner.is_new}
    active = {owner.contact_id for identity, owner in welcome.items() if identity in seen}
    tx.before_commit(SeenContacts).note(phone, active, {owner.urn_id for owner in welcome.values()}, revives=revives)
    return owners


class SeenContacts:
    """The contacts seen in a unit of work, written at its end. Many phones may report the same senders at the same
    time: their contacts are locked only from here to the commit, not while their messages are stored.
    """

    is_last = False

    def __init__(self) -> None:
        self._seen: dict[int, dict[int, bool]] = {}
        self._urns: dict[tuple[int, int], set[int]] = {}

    def note(self, source: Source, contact_ids: Set[int], urn_ids: Set[int], *, revives: bool) -> None:
        """Records that these contacts were seen through a channel, which these URNs use from now on."""
        seen = self._seen.setdefault(source.workspace_id, {})
        for contact_id in contact_ids:
            seen[contact_id] = revives or seen.get(contact_id, False)
        self._urns.setdefault((source.workspace_id, source.id), set()).update(urn_ids)

    def flush(self, tx: Transaction) -> None:
        seen, self._seen = self._seen, {}
        urns, self._urns = self._urns, {}
        for workspace_id in sorted(each for each in seen if seen[each]):
            hold_in_order(tx, workspace_id, seen[workspace_id])
            for revives in (True, False):
                ids = sorted(each for each, is_revived in seen[workspace_id].items() if is_revived == revives)
                if ids:
                    note_seen(tx, workspace_id, ids, revives=revives)
        for (workspace_id, channel_id), urn_ids in sorted(urns.items()):
            prefer_channel(tx, workspace_id, sorted(urn_ids), channel_id)


def _milliseconds(moment: datetime | None) -> str:
    return "" if moment is None else str(int(moment.timestamp() * 1000))


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()
