"""SMS, calls and deliveries that phones report: contacts, messages, channel events and their webhooks, each once, also
when the records were deleted meanwhile.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import delete, literal, select

from flows.phones import SENDER_NAME_LENGTH_MAX, normalize_number
from flows.urns import Urn
from persistence.changes import change_each_message
from persistence.channels.event_form import CALL_TYPES, EventContact, MessageName, Source, call_fields, message_fields
from persistence.contacts.owners import UrnOwner
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction, delete_old
from persistence.deliveries.outbox import ChannelEvent, record_channel_events
from persistence.messages.incoming import Received, find_known_messages, store_received
from persistence.relayers.commands import (
    CallReport,
    DeliveryReport,
    SmsReport,
    believe,
)
from persistence.sql.columns import UtcDateTime, new_uuid
from persistence.stamps import (
    CONTACT_CHANGED,
    MESSAGE_FAILED,
    MESSAGE_SENT,
    Changes,
    ReportedContacts,
    changes_of,
    tell,
)
from persistence.tables.channels import channel_event, forgotten_report
from persistence.tables.contacts import BLOCKED, STOPPED, contact
from persistence.tables.messages import (
    DELIVERED,
    ERRORED,
    FAILED,
    OUTGOING,
    QUEUED,
    READ,
    SENT,
    WIRED,
    message,
)

HIDDEN_NUMBERS = ("", "-1", "-2", "-3")

UNKNOWN_SENDER = Urn("tel", "unknown")
"""Whoever sends an SMS without a number, or with one that has neither letters nor digits."""

SENDERS_KEPT = 20_000
"""Numbers that were read lately: to read them is a fifth of the work for their SMS, and senders write again."""

TRIGGERING_CALLS = ("mo_call", "mo_miss")
"""Calls by contacts, which may start a flow; calls to contacts do not."""

PHONE_FAILED = "phone_failed"
MOST_ERRORS = 3
UNSENT = (QUEUED, WIRED, ERRORED)
LEFT = (SENT, DELIVERED, READ)
ORDER = {"mt_dlvd": 1, "mt_read": 2}
EVENTS: dict[str, MessageName] = {SENT: "mt_sent", DELIVERED: "mt_dlvd"}

KEPT_FOR = timedelta(days=90)
"""As long as messages keep the keys of their reports."""


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


def record_sms(
    tx: Transaction, phone: Source, reports: Sequence[SmsReport]
) -> tuple[dict[SmsReport, int], Sequence[int]]:
    """Store incoming SMS, oldest first; returns the message id of each report, and the ids of those that are new.
    Messages from blocked contacts are dropped, and what another workspace got when it had the phone. A repeat changes
    nothing, whatever happened to its contact.
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
    new_ids = sorted(message_ids.values())
    message_ids |= {name: number for name, (owner_id, number) in known.items() if owner_id == phone.workspace_id}
    return {report: message_ids[name] for report, name in names.items() if name in message_ids}, new_ids


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


def record_calls(tx: Transaction, phone: Source, reports: Sequence[CallReport]) -> Sequence[int]:
    """Store calls as channel events; a repeat in this or a later sync creates no second event. Returns the ids of those
    that may start a flow.
    """
    named: dict[str, tuple[CallReport, Urn]] = {}
    for report in reports:
        urn = sender_urn(report.number, phone.country)
        if urn is not None:
            named[_fingerprint("call", urn.identity, report.kind, _milliseconds(report.moment))] = (report, urn)
    known = find_known_calls(tx, phone.id, named) if named else set()
    new = {name: each for name, each in named.items() if name not in known}
    if not new:
        return []
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
    events, pending = [], []
    for event_id, name in tx.execute(statement).all():
        assert name is not None, "calls of phones are stored by name"
        report, owner = calls[name]
        if rows[name]["is_pending"]:
            pending.append(event_id)
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
    return sorted(pending)


def find_senders(tx: Transaction, phone: Source, urns: Collection[Urn]) -> dict[str, UrnOwner]:
    """The contacts who write from these numbers: they are seen now, become active again and get replies through this
    phone."""
    return _find_owners(tx, phone, urns, {urn.identity for urn in urns}, revives=True) if urns else {}


def find_callers(tx: Transaction, phone: Source, calls: Collection[tuple[CallReport, Urn]]) -> dict[str, UrnOwner]:
    """The contacts of calls, who get replies through this phone; callers are seen now."""
    calling = {urn.identity for report, urn in calls if report.kind in TRIGGERING_CALLS}
    return _find_owners(tx, phone, [urn for _, urn in calls], calling, revives=False)


@dataclass(slots=True)
class MessageState:
    """The state of one message while the reports about it are applied, oldest first. `reported_on` is when the message
    got its status: by its phone's clock, or by ours if we gave it up.
    """

    contact_id: int
    contact: EventContact
    text: str
    status: str
    sent_on: datetime | None
    reported_on: datetime | None
    failed_reason: str | None
    error_count: int
    written_on: datetime
    failed_detail: str | None = None
    was: str = ""
    moves: list[tuple[str, datetime]] = field(default_factory=list)

    def apply(self, report: DeliveryReport, now: datetime) -> None:
        """Apply one report: delivered is never changed, a failure is undone only by a later report, and what was sent
        does not fail by an older one. An impossible time is replaced by ours and never counts as later, because repeats
        must change nothing. An errored message is offered to its phone again; the third error fails it.
        """
        believed = believe(report.moment, now)
        moment = believed or now
        is_after = self.reported_on is None or moment > self.reported_on
        is_before = self.reported_on is not None and believed is not None and moment < self.reported_on
        is_news = is_after and (believed is not None or report.moment is None)
        if self.status == FAILED and not (self.reported_on is not None and is_news):
            return
        if report.kind == "mt_sent" and self.status in (*UNSENT, FAILED):
            self._move(SENT, moment, moment)
        elif report.kind == "mt_dlvd" and self.status in (*UNSENT, SENT, FAILED):
            self._move(DELIVERED, moment, self.sent_on or moment)
        elif report.kind == "mt_read" and self.status in (*UNSENT, SENT, DELIVERED, FAILED):
            if self.status != DELIVERED:
                self._move(DELIVERED, moment, self.sent_on or moment)
            self._move(READ, moment, self.sent_on)
        elif report.kind == "mt_fail" and (self.status in UNSENT or (self.status == SENT and not is_before)):
            self._move(FAILED, moment, None)
            self.failed_detail = report.detail if self.contact.urn else None  # one whose content is gone has no URN
        elif report.kind == "mt_error" and self.status in UNSENT and (self.reported_on is None or is_news):
            self.error_count += 1
            self._move(ERRORED if self.error_count < MOST_ERRORS else FAILED, moment, None)

    def _move(self, status: str, moment: datetime, sent_on: datetime | None) -> None:
        self.status = status
        self.sent_on = sent_on
        self.reported_on = moment
        self.failed_reason = PHONE_FAILED if status == FAILED else None
        self.failed_detail = None
        self.moves.append((status, moment))

    @property
    def told(self) -> str | None:
        """The event for subscribers: it has left, as far as that was not known, or it has failed."""
        if self.status == FAILED:
            return MESSAGE_FAILED if self.was != FAILED else None
        return MESSAGE_SENT if self.status in LEFT and self.was in (QUEUED, ERRORED, FAILED) else None


def record_delivery_reports(tx: Transaction, source: Source, reports: Sequence[DeliveryReport]) -> Collection[int]:
    """Apply reports about messages of this channel; reports about other messages change nothing. Returns the ids of
    those that it has. Two statements, and events."""
    states = _find(tx, source, sorted({report.message_id for report in reports}))
    # A phone may report both of a message at once, in any order: it was sent before it was delivered.
    for report in sorted(reports, key=lambda each: ORDER.get(each.kind, 0)):
        if report.message_id in states:
            states[report.message_id].apply(report, tx.now)
    moved = {key: state for key, state in sorted(states.items()) if state.moves}
    if not moved:
        return states.keys()
    names = ("status", "sent_on", "reported_on", "failed_reason", "failed_detail", "error_count")
    changes = {key: {name: getattr(state, name) for name in names} for key, state in moved.items()}
    change_each_message(tx, source.workspace_id, changes)
    changed = changes_of(tx, source.workspace_id)
    for key, state in moved.items():
        changed.fare(state.was, state.status, state.written_on, source.id)
        if state.told is not None:
            tell(tx, source.workspace_id, state.told, [key])
    failures = [status for state in moved.values() for status, _ in state.moves if status in (ERRORED, FAILED)]
    if failures:
        changed.errors[source.id] += len(failures)
    events = [event for key, state in moved.items() for event in _events(source, key, state)]
    record_channel_events(tx, source.workspace_id, source.id, events)
    return states.keys()


def forget_calls_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Delete the channel events of contacts, and keep the keys of their reports."""
    rows = channel_event.c
    theirs = (rows.workspace_id == workspace_id) & rows.contact_id.in_(contact_ids)
    names = select(rows.workspace_id, rows.channel_id, rows.external_id, literal(tx.now, UtcDateTime))
    kept = tx.upsert(forgotten_report).from_select(
        ["workspace_id", "channel_id", "report_key", "forgotten_on"], names.where(theirs, rows.external_id.is_not(None))
    )
    tx.execute(kept.on_conflict_do_nothing())
    tx.execute(delete(channel_event).where(theirs))


def find_known_calls(tx: Transaction, channel_id: int, external_ids: Collection[str]) -> set[str]:
    """Those of these keys that reports of this channel had before, in any workspace; one statement."""
    wanted = list(external_ids)
    present, gone = channel_event.c, forgotten_report.c
    stored = select(present.external_id).where(present.channel_id == channel_id, present.external_id.in_(wanted))
    forgotten = select(gone.report_key).where(gone.channel_id == channel_id, gone.report_key.in_(wanted))
    return {name for name in tx.execute(stored.union_all(forgotten)).scalars() if name is not None}


def trim_forgotten(tx: Transaction, limit: int) -> int:
    """Deletes keys that are older than KEPT_FOR; returns their number."""
    return delete_old(tx, forgotten_report.c.forgotten_on, KEPT_FOR, limit)


def _in_events(owner: UrnOwner) -> EventContact:
    return EventContact(owner.uuid, owner.name, owner.urn)


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


def _find_owners(
    tx: Transaction, phone: Source, urns: Collection[Urn], seen: Collection[str], *, revives: bool
) -> dict[str, UrnOwner]:
    owners = ensure_owners(tx, phone.workspace_id, urns, channel_id=phone.id, seen=seen)
    # New contacts were stored as seen now, through this phone.
    welcome = {name: owner for name, owner in owners.items() if owner.status != BLOCKED and not owner.is_new}
    active = {owner.contact_id for identity, owner in welcome.items() if identity in seen}
    reported = tx.before_commit(Changes).reported.setdefault((phone.workspace_id, phone.id), ReportedContacts())
    reported.seen.update({contact_id: revives or reported.seen.get(contact_id, False) for contact_id in active})
    reported.urn_ids.update(owner.urn_id for owner in welcome.values())
    if revives:
        revived = {owner.contact_id for owner in welcome.values() if owner.status == STOPPED} & active
        tell(tx, phone.workspace_id, CONTACT_CHANGED, revived)
    return owners


def _milliseconds(moment: datetime | None) -> str:
    return "" if moment is None else str(int(moment.timestamp() * 1000))


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()


def _find(tx: Transaction, source: Source, message_ids: Sequence[int]) -> dict[int, MessageState]:
    if not message_ids:
        return {}
    rows = message.c
    columns = (rows.id, rows.contact_id, contact.c.uuid, contact.c.name, rows.urn, rows.text)
    state = (rows.status, rows.sent_on, rows.reported_on, rows.failed_reason, rows.error_count)
    times = (rows.modified_on, rows.created_on)
    mine = (rows.workspace_id == source.workspace_id) & (rows.channel_id == source.id)
    statement = (
        select(*columns, *state, *times)
        .join(contact, contact.c.id == rows.contact_id)
        .where(mine, rows.direction == OUTGOING, rows.id.in_(message_ids))
    )
    found = {}
    for key, contact_id, uuid, name, urn, text, *told in tx.execute(statement):
        status, sent_on, reported_on, reason, errors, modified_on, created_on = told
        since = modified_on if status == FAILED and reason != PHONE_FAILED else reported_on
        whom = EventContact(uuid, name, urn)
        found[key] = MessageState(
            contact_id, whom, text, status, sent_on, since, reason, errors, created_on, was=status
        )
    return found


def _events(source: Source, message_id: int, state: MessageState) -> list[ChannelEvent]:
    """An event for each change to sent or delivered, with the phone's time of it."""
    events = []
    for status, moment in state.moves:
        if status in EVENTS:
            name, channel, text = EVENTS[status], source.in_events, state.text
            fields = message_fields(name, channel, state.contact, message_id=message_id, text=text, time=moment)
            events.append(ChannelEvent(name, fields, state.contact_id))
    return events
