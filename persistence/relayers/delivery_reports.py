"""Delivery reports about outgoing messages: an event for each real change of a status."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, select, update

from persistence.changes import note_errors, note_messages
from persistence.channels.channels import Source
from persistence.channels.event_form import EventContact, MessageName, message_fields
from persistence.database import Transaction
from persistence.deliveries.outbox import ChannelEvent, record_channel_events
from persistence.messages.states import DELIVERED, ERRORED, FAILED, OUTGOING, QUEUED, SENT, WIRED
from persistence.relayers.commands import DeliveryReport, believe
from persistence.stamps import later
from persistence.tables.contacts import contact
from persistence.tables.messages import message

PHONE_FAILED = "phone_failed"
MOST_ERRORS = 3
UNSENT = (QUEUED, WIRED, ERRORED)
EVENTS: dict[str, MessageName] = {SENT: "mt_sent", DELIVERED: "mt_dlvd"}


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
        elif report.kind == "mt_fail" and (self.status in UNSENT or (self.status == SENT and not is_before)):
            self._move(FAILED, moment, None)
        elif report.kind == "mt_error" and self.status in UNSENT and (self.reported_on is None or is_news):
            self.error_count += 1
            self._move(ERRORED if self.error_count < MOST_ERRORS else FAILED, moment, None)

    def _move(self, status: str, moment: datetime, sent_on: datetime | None) -> None:
        self.status = status
        self.sent_on = sent_on
        self.reported_on = moment
        self.failed_reason = PHONE_FAILED if status == FAILED else None
        self.moves.append((status, moment))


def record_delivery_reports(tx: Transaction, source: Source, reports: Sequence[DeliveryReport]) -> None:
    """Apply reports about messages of this channel; reports about other messages change nothing. Two statements, and
    events."""
    states = _find(tx, source, sorted({report.message_id for report in reports}))
    # A phone may report both of a message at once, in any order: it was sent before it was delivered.
    for report in sorted(reports, key=lambda each: each.kind == "mt_dlvd"):
        if report.message_id in states:
            states[report.message_id].apply(report, tx.now)
    moved = {key: state for key, state in sorted(states.items()) if state.moves}
    if not moved:
        return
    names = ("status", "sent_on", "reported_on", "failed_reason", "error_count")
    changes = [{"key": key} | {f"new_{name}": getattr(state, name) for name in names} for key, state in moved.items()]
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    statement = update(message).where(message.c.id == bindparam("key"), message.c.channel_id == source.id)
    tx.execute(statement.values(modified_on=later(tx, message), **values), changes)
    note_messages(tx, source.workspace_id, moved)
    failures = [status for state in moved.values() for status, _ in state.moves if status in (ERRORED, FAILED)]
    note_errors(tx, source.workspace_id, source.id, len(failures))
    events = [event for key, state in moved.items() for event in _events(source, key, state)]
    record_channel_events(tx, source.workspace_id, source.id, events)


def _find(tx: Transaction, source: Source, message_ids: Sequence[int]) -> dict[int, MessageState]:
    if not message_ids:
        return {}
    rows = message.c
    columns = (rows.id, rows.contact_id, contact.c.uuid, contact.c.name, rows.urn, rows.text)
    state = (rows.status, rows.sent_on, rows.reported_on, rows.failed_reason, rows.error_count, rows.modified_on)
    mine = (rows.workspace_id == source.workspace_id) & (rows.channel_id == source.id)
    statement = (
        select(*columns, *state)
        .join(contact, contact.c.id == rows.contact_id)
        .where(mine, rows.direction == OUTGOING, rows.id.in_(message_ids))
    )
    found = {}
    for key, contact_id, uuid, name, urn, text, status, sent_on, reported_on, reason, errors, modified_on in tx.execute(
        statement
    ):
        since = modified_on if status == FAILED and reason != PHONE_FAILED else reported_on
        whom = EventContact(uuid, name, urn)
        found[key] = MessageState(contact_id, whom, text, status, sent_on, since, reason, errors)
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
