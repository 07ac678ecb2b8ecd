"""What became of outgoing messages, as their phone reports it: guarded moves of status, an event for each real one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

from sqlalchemy import bindparam, select, update

from persistence.channels.event_form import EventChannel, EventContact, message_fields
from persistence.database import Transaction
from persistence.deliveries.outbox import ChannelEvent, record_channel_events
from persistence.messages.states import DELIVERED, ERRORED, FAILED, OUTGOING, QUEUED, SENT, WIRED
from persistence.relayers.commands import FateReport
from persistence.relayers.reported_times import believe
from persistence.stamps import later
from persistence.tables.contacts import contact
from persistence.tables.messages import message

PHONE_FAILED = "phone_failed"
MOST_ERRORS = 3
UNSENT = (QUEUED, WIRED, ERRORED)


@dataclass(slots=True)
class DeliveryReport:
    """The state of one message while the reports about it are gone through, oldest first."""

    status: str
    sent_on: datetime | None
    reported_on: datetime | None
    failed_reason: str | None
    error_count: int = 0
    moves: list[tuple[str, datetime]] = field(default_factory=list)

    def hear(self, report: FateReport, now: datetime) -> None:
        """Move by one report: delivered is never left, a failure is undone only by a later report.

        A time that cannot be is replaced by ours, and is later than nothing: repeats of the report must change nothing.
        A message that errored is offered to its phone again; the third error fails it.
        """
        believed = believe(report.moment, now)
        moment = believed or now
        is_after = self.reported_on is None or moment > self.reported_on
        is_news = is_after and (believed is not None or report.moment is None)
        if self.status == FAILED and not (self.reported_on is not None and is_news):
            return
        if report.kind == "mt_sent" and self.status in (*UNSENT, FAILED):
            self._move(SENT, moment, moment)
        elif report.kind == "mt_dlvd" and self.status in (*UNSENT, SENT, FAILED):
            self._move(DELIVERED, moment, self.sent_on or moment)
        elif report.kind == "mt_fail" and self.status in (*UNSENT, SENT):
            self._move(FAILED, moment, None)
        elif report.kind == "mt_error" and (self.status in (QUEUED, WIRED) or (self.status == ERRORED and is_news)):
            self.error_count += 1
            self._move(ERRORED if self.error_count < MOST_ERRORS else FAILED, moment, None)

    def _move(self, status: str, moment: datetime, sent_on: datetime | None) -> None:
        self.status = status
        self.sent_on = sent_on
        self.reported_on = moment
        self.failed_reason = PHONE_FAILED if status == FAILED else None
        self.moves.append((status, moment))


EVENTS = {SENT: "mt_sent", DELIVERED: "mt_dlvd"}


def record_fates(tx: Transaction, phone: Any, reports: Sequence[FateReport]) -> None:
    """Apply reports about messages of this phone; those about others change nothing. Two statements and the events."""
    rows = _find(tx, phone, sorted({report.message_id for report in reports}))
    fates = {
        key: DeliveryReport(row.status, row.sent_on, _reported_on(row), row.failed_reason, row.error_count)
        for key, row in rows.items()
    }
    for report in reports:
        if report.message_id in fates:
            fates[report.message_id].hear(report, tx.now)
    moved = {key: fate for key, fate in fates.items() if fate.moves}
    if not moved:
        return
    changes = [
        {
            "key": key,
            "new_status": fate.status,
            "new_sent_on": fate.sent_on,
            "new_reported_on": fate.reported_on,
            "new_reason": fate.failed_reason,
            "new_errors": fate.error_count,
        }
        for key, fate in sorted(moved.items())
    ]
    statement = update(message).where(message.c.id == bindparam("key"), message.c.channel_id == phone.id)
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in ("status", "sent_on", "reported_on")}
    values |= {"failed_reason": bindparam("new_reason"), "error_count": bindparam("new_errors")}
    tx.execute(statement.values(modified_on=later(tx, message), **values), changes)
    events = [event for key, fate in sorted(moved.items()) for event in _events(phone, rows[key], fate)]
    record_channel_events(tx, phone.workspace_id, phone.id, events)


def _reported_on(row: Any) -> datetime | None:
    """When the message came to its state: by its phone's clock, or by ours when we gave it up."""
    is_given_up = row.status == FAILED and row.failed_reason != PHONE_FAILED
    return cast(datetime | None, row.modified_on if is_given_up else row.reported_on)


def _find(tx: Transaction, phone: Any, message_ids: Sequence[int]) -> dict[int, Any]:
    if not message_ids:
        return {}
    columns = message.c
    mine = (columns.workspace_id == phone.workspace_id) & (columns.channel_id == phone.id)
    statement = (
        select(message, contact.c.uuid.label("contact_uuid"), contact.c.name.label("contact_name"))
        .join(contact, contact.c.id == columns.contact_id)
        .where(mine, columns.direction == OUTGOING, columns.id.in_(message_ids))
    )
    return {row.id: row for row in tx.execute(statement)}


def _events(phone: Any, row: Any, fate: DeliveryReport) -> list[ChannelEvent]:
    """An event for each move to sent or delivered, with the phone's time of it."""
    number = row.urn.partition(":")[2] if row.urn and row.urn.startswith("tel:") else None
    whom = EventContact(row.contact_uuid, row.contact_name, row.urn, number)
    events = []
    for status, moment in fate.moves:
        if status in EVENTS:
            name = cast(Literal["mt_sent", "mt_dlvd"], EVENTS[status])
            source = EventChannel(phone.id, phone.uuid, phone.address)
            fields = message_fields(name, source, whom, message_id=row.id, text=row.text, time=moment)
            events.append(ChannelEvent(name, fields, row.contact_id))
    return events
