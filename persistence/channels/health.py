"""What waits for a channel and what is wrong with it: what a phone reported of itself, the log of calls to gateways,
and alarms. The log says what was said, with secrets hidden, and what became of it; it is bounded by an age, and by a
number for each channel.

Alarms of phones are lost contact, low battery and unsent backlog; all channels have one for automatic answers in a
circle. There is one event when an alarm opens, and none while it lasts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, exists, func, insert, literal, not_, or_, select, true

from channels.types import GATEWAYS
from persistence.channels.channels import IS_RELAYER, LOST_AFTER, REFUSED, SEEN_ID, SEEN_NAME, SEEN_UUID, join_channels
from persistence.channels.event_form import ALARM, EventChannel, PhoneState, alarm_fields
from persistence.database import Database, Transaction, delete_old
from persistence.deliveries.outbox import record_channel_event
from persistence.errors import RecordMissing
from persistence.lists import ListSpec, belongs_to, equals
from persistence.pages import Order
from persistence.records import Record, Shown, optional
from persistence.secrets.encryption import HIDDEN
from persistence.sql.columns import columns_for, split, time_text
from persistence.stamps import CAME, WENT
from persistence.statements import update
from persistence.tables.changes import day_count
from persistence.tables.channels import channel, channel_alarm, channel_connection, gateway_call, sync_record
from persistence.tables.messages import (
    CIRCLE,
    DELIVERED,
    INCOMING,
    IS_UNCERTAIN,
    IS_UNSENT,
    IS_WATCHED,
    PENDING_COUNT,
    READ,
    SENT,
    VISIBLE,
    WIRED,
    message,
)

CONNECTION_ENDED, CONNECTION_UNUSED = "ended", "unused"
RESTED_FOR = timedelta(seconds=15)
"""So long after its time a connection that is made again and again may wait for its turn."""
TOLD_FOR = timedelta(days=7)
LOOKED_BACK_DAYS = 30
"""For so long it is known when a channel sent and received last."""
MOST_REPORTS = 5000
"""A phone that syncs more often than every two minutes is told for fewer days."""

ALARMS = ListSpec(
    channel_alarm,
    Record(
        {
            "id": channel_alarm.c.id,
            "channel": optional(SEEN_ID, {"uuid": SEEN_UUID, "name": func.coalesce(SEEN_NAME, "")}),
            "kind": channel_alarm.c.kind,
            "opened_on": channel_alarm.c.opened_on,
            "closed_on": channel_alarm.c.closed_on,
        }
    ),
    Order(channel_alarm.c.opened_on, channel_alarm.c.id),
    source=join_channels(channel_alarm, channel_alarm),
    filters={"channel": belongs_to(channel_alarm.c.channel_id, channel)},
)
ACCEPTED, REFUSED_CALL, UNANSWERED = "accepted", "refused", "unanswered"
KEPT_FOR = timedelta(days=7)
KEPT_CALLS = 1000
"""Of each channel and direction."""
OUTWARD, INWARD = "out", "in"
BATTERY, LOST_CONTACT, BACKLOG, IN_CIRCLE = "battery", "lost_contact", "backlog", "circle"
BATTERY_LEVEL, CHARGED_LEVEL = 25, 50
DRAINING_STATUSES = ("DIS", "UNK", "NOT")
CHARGED_STATUSES = ("CHA", "FUL")
UNSENT_AFTER, UNSENT_UNTIL = timedelta(minutes=30), timedelta(hours=24)
ALARMS_KEPT_FOR = timedelta(days=90)
CIRCLE_ENDS_AFTER = timedelta(hours=1)
QUIET_FOR = timedelta(hours=6)
"""A backlog opens an alarm if for this long nothing was sent and no alarm of any kind was opened."""


def read_health(tx: Transaction, workspace_id: int, uuid: str) -> dict[str, Any]:
    """The health of an active channel. Raises RecordMissing."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    columns = (channel.c.id, channel.c.uuid, channel.c.name, channel.c.type, channel.c.failing_since, *REFUSED)
    row = tx.execute(select(*columns).where(mine)).first()
    if row is None:
        raise RecordMissing
    channel_id, channel_uuid, name, channel_type, failing_since, refused_on, refused_reason = row
    pending, oldest = _count_waiting(tx, workspace_id, channel_id, is_gateway=channel_type in GATEWAYS)
    return {
        "channel": {"uuid": channel_uuid, "name": name},
        "pending": pending,
        "oldest_pending_on": _told(oldest),
        "last_sent_on": _told(_find_last_sent(tx, workspace_id, channel_id)),
        "last_received_on": _told(_find_last_received(tx, workspace_id, channel_id)),
        "failing_since": _told(failing_since),
        "last_error": _find_last_error(tx, workspace_id, channel_id),
        "uncertain": _count_uncertain(tx, workspace_id, channel_id),
        "refused_on": _told(refused_on),
        "refused_reason": None if refused_on is None else refused_reason,
        "connection": read_connection(tx, workspace_id, channel_id),
        "alarms": _list_open(tx, workspace_id, channel_id),
        "hours": _list_hours(tx, workspace_id, channel_id),
    }


def read_connection(tx: Transaction, workspace_id: int, channel_id: int) -> dict[str, Any] | None:
    """The state of a channel's connection, since when, and why; None if it keeps none. A state that no worker holds any
    more has ended."""
    return find_connections(tx, workspace_id).get(channel_id)


def find_connections(tx: Transaction, workspace_id: int) -> dict[int, dict[str, Any]]:
    """The same of the channels of a workspace, by their ids."""
    mine = channel_connection.c.workspace_id == workspace_id
    return {channel_id: told for channel_id, _, told in _list_connections(tx, mine)}


def list_connections(tx: Transaction) -> list[tuple[str, dict[str, Any]]]:
    """The same of all channels, with their UUIDs."""
    return [(uuid, told) for _, uuid, told in _list_connections(tx, true())]


def _list_connections(tx: Transaction, which: ColumnElement[bool]) -> list[tuple[int, str, dict[str, Any]]]:
    rows = channel_connection.c
    its = (rows.channel_id == channel.c.id) & (rows.workspace_id == channel.c.workspace_id) & channel.c.is_active
    columns = (
        rows.channel_id,
        channel.c.uuid,
        rows.state,
        rows.reason,
        rows.changed_on,
        rows.leased_until,
        rows.holder,
    )
    found = select(*columns).join(channel, its).where(which, rows.state != CONNECTION_UNUSED)
    listed = []
    for channel_id, uuid, known, reason, changed_on, until, holder in tx.execute(found.order_by(rows.channel_id)):
        is_held = until is not None and until > tx.now - (RESTED_FOR if holder is None else timedelta())
        state = known if is_held else CONNECTION_ENDED
        listed.append((channel_id, uuid, {"state": state, "reason": reason, "changed_on": time_text(changed_on)}))
    return listed


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayCall:
    """One request to a gateway for a part of a message, and its response (`status` and the begin of the body in
    `answer`) or why there was none (`error`). Or one by a gateway (`direction` is `in`), our response, why it was
    refused, and its `result`. Secrets are hidden already; without a message or contact their ids are 0."""

    workspace_id: int
    channel_id: int
    contact_id: int
    message_id: int
    part: int
    outcome: str
    method: str
    url: str
    headers: Mapping[str, str]
    body: str | None
    status: int | None
    answer: str | None
    error: str | None
    duration_ms: int
    direction: str = "out"
    result: str | None = None


NAMES = tuple(each.name for each in fields(GatewayCall))


def _show(row: Shown) -> Shown:
    """The record with its request and its response. In anonymous workspaces it does not tell whom it was for."""
    request = {name: row.pop(name) for name in ("method", "url", "headers", "body")}
    status, answer = row.pop("status"), row.pop("answer")
    response = None if status is None else {"status": status, "body": answer}
    row["message"] = row["message"] or None
    return row | {"request": request | {"url": request["url"] or HIDDEN}, "response": response}


def _record(*, is_masked: bool) -> Record:
    rows = gateway_call.c
    return Record(
        {
            "id": rows.id,
            "direction": rows.direction,
            "message": rows.message_id,
            "part": rows.part,
            "outcome": rows.outcome,
            "method": rows.method,
            "url": None if is_masked else rows.url,
            "headers": rows.headers,
            "body": None if is_masked else rows.body,
            "status": rows.status,
            "answer": None if is_masked else rows.answer,
            "error": None if is_masked else rows.error,
            "result": None if is_masked else rows.result,
            "duration_ms": rows.duration_ms,
            "created_on": rows.created_on,
        },
        show=_show,
    )


GATEWAY_CALLS = ListSpec(
    gateway_call,
    _record(is_masked=False),
    Order(gateway_call.c.created_on, gateway_call.c.id),
    masked=_record(is_masked=True),
    filters={
        "channel": belongs_to(gateway_call.c.channel_id, channel),
        "outcome": equals(gateway_call.c.outcome),
        "direction": equals(gateway_call.c.direction),
    },
)


def record_calls(tx: Transaction, calls: Sequence[GatewayCall]) -> None:
    """Stores calls that have just ended; one statement, or none."""
    if calls:
        tx.execute(
            insert(gateway_call),
            [{name: getattr(each, name) for name in NAMES} | {"created_on": tx.now} for each in calls],
        )


def trim_calls(database: Database, limit: int) -> bool:
    """Deletes calls older than KEPT_FOR, and of each channel those before its latest KEPT_CALLS, at most so many of
    each channel and of each kind, in a unit of work of its own; whether there may be more.
    """
    with database.reading() as tx:
        due = [channel_id for channel_id in _list_channels(tx) if _find_old(tx, channel_id, 1)]
    gone = (database.write(partial(_trim_channel, channel_id=each, limit=limit), may_repeat=True) for each in due)
    return max(gone, default=0) >= limit


def note_power_report(tx: Transaction, workspace_id: int, channel_id: int) -> None:
    """Open or close the battery alarm after a phone's status report; call it after the report is stored in the
    channel row."""
    is_this = and_(channel.c.workspace_id == workspace_id, channel.c.id == channel_id)
    _close(tx, BATTERY, and_(is_this, _is_charged()))
    _open(tx, BATTERY, and_(is_this, _is_draining()))


def trim_alarms(tx: Transaction, limit: int) -> int:
    """Deletes alarms that were closed longer than ALARMS_KEPT_FOR ago; returns their number."""
    return delete_old(tx, channel_alarm.c.closed_on, ALARMS_KEPT_FOR, limit)


def close_alarms(tx: Transaction, channel_id: int) -> None:
    """Closes all alarms of a phone that another workspace has claimed; new alarms are reported there."""
    open_ones = and_(channel_alarm.c.channel_id == channel_id, channel_alarm.c.closed_on.is_(None))
    tx.execute(update(channel_alarm).where(open_ones).values(closed_on=tx.now))


def check_alarms(tx: Transaction) -> int:
    """Closes and opens the alarms of all phones by their conditions; returns the number opened. Safe to run twice."""
    is_unsent = _has_unsent(tx.now)
    _close(tx, BATTERY, _is_charged())
    _close(tx, LOST_CONTACT, channel.c.last_seen > channel_alarm.c.opened_on)
    _close(tx, BACKLOG, not_(is_unsent))
    _close(tx, IN_CIRCLE, not_(_is_in_circle(tx.now)))
    opened = _open(tx, BATTERY, _is_draining())
    opened += _open(tx, LOST_CONTACT, func.coalesce(channel.c.last_seen, channel.c.created_on) < tx.now - LOST_AFTER)
    return opened + _open(tx, BACKLOG, and_(is_unsent, _is_quiet(tx.now)))


def open_circle_alarms(tx: Transaction, workspace_id: int, channel_ids: Collection[int]) -> None:
    """Automatic answers by these channels have just failed, because they go in a circle. The alarm ends an hour after
    the last one.
    """
    if channel_ids:
        is_one = and_(channel.c.workspace_id == workspace_id, channel.c.id.in_(sorted(channel_ids)))
        _open(tx, IN_CIRCLE, is_one, of_phones=False)


def _count_waiting(
    tx: Transaction, workspace_id: int, channel_id: int, *, is_gateway: bool
) -> tuple[int, datetime | None]:
    """How many messages wait to be sent, and since when the oldest does. A gateway sends what it has (`wired`); a phone
    may still have to."""
    its = (message.c.workspace_id == workspace_id) & (message.c.channel_id == channel_id)
    here = message.c.status != WIRED if is_gateway else true()
    found = select(func.count(), func.min(message.c.created_on)).where(its, IS_UNSENT, message.c.visibility == VISIBLE)
    number, oldest = tx.execute(found.where(here)).one()
    return number, oldest


def _count_uncertain(tx: Transaction, workspace_id: int, channel_id: int) -> int:
    its = (message.c.workspace_id == workspace_id) & (message.c.channel_id == channel_id)
    return tx.execute(select(func.count()).select_from(message).where(its, IS_UNCERTAIN)).scalar_one()


def _told(moment: datetime | None) -> str | None:
    return None if moment is None else time_text(moment)


def _find_last_day(tx: Transaction, workspace_id: int, channel_id: int, kind: str) -> datetime | None:
    """The begin of the last day of the last LOOKED_BACK_DAYS on which messages came or went. It bounds what has to be
    looked through: messages have no index by channel and time, which every one of them would pay for."""
    rows = day_count.c
    counted = (rows.workspace_id == workspace_id) & (rows.kind == kind) & (rows.subject == channel_id)
    since = tx.now.date() - timedelta(days=LOOKED_BACK_DAYS)
    last = tx.execute(select(func.max(rows.day)).where(counted, rows.day >= since, rows.number > 0)).scalar_one()
    return None if last is None else datetime.combine(last, time(), UTC)


def _find_last_received(tx: Transaction, workspace_id: int, channel_id: int) -> datetime | None:
    day = _find_last_day(tx, workspace_id, channel_id, CAME)
    if day is None:
        return None
    rows = message.c
    its = (rows.workspace_id == workspace_id) & (rows.channel_id == channel_id) & (rows.direction == INCOMING)
    latest = select(rows.created_on).where(its, rows.created_on >= day).order_by(rows.created_on.desc(), rows.id.desc())
    return tx.execute(latest.limit(1)).scalar_one_or_none()


def _find_last_sent(tx: Transaction, workspace_id: int, channel_id: int) -> datetime | None:
    """Of a message that was written on the last day with messages, or on the day before."""
    day = _find_last_day(tx, workspace_id, channel_id, WENT)
    if day is None:
        return None
    rows = message.c
    its = (rows.workspace_id == workspace_id) & (rows.channel_id == channel_id)
    sent = (rows.folder == literal("sent", literal_execute=True)) & (rows.sent_on >= day - timedelta(days=1))
    latest = select(rows.sent_on).where(its, sent).order_by(rows.sent_on.desc(), rows.id.desc())
    return tx.execute(latest.limit(1)).scalar_one_or_none()


def _find_last_error(tx: Transaction, workspace_id: int, channel_id: int) -> dict[str, Any] | None:
    """The last call that the gateway did not accept, without what it wrote: that is in the log, for fewer roles."""
    rows = gateway_call.c
    its = (rows.workspace_id == workspace_id) & (rows.channel_id == channel_id) & (rows.outcome != ACCEPTED)
    latest = select(rows.created_on, rows.status, rows.error).where(its)
    found = tx.execute(latest.order_by(rows.created_on.desc(), rows.id.desc()).limit(1)).first()
    if found is None:
        return None
    return {"created_on": time_text(found.created_on), "status": found.status, "error": found.error}


def _list_open(tx: Transaction, workspace_id: int, channel_id: int) -> list[dict[str, Any]]:
    rows = channel_alarm.c
    its = (rows.workspace_id == workspace_id) & (rows.channel_id == channel_id) & rows.closed_on.is_(None)
    found = tx.execute(select(rows.kind, rows.opened_on).where(its).order_by(rows.opened_on, rows.id))
    return [{"kind": kind, "opened_on": time_text(opened_on)} for kind, opened_on in found]


def _list_hours(tx: Transaction, workspace_id: int, channel_id: int) -> list[dict[str, Any]]:
    """The last report of each hour, latest first."""
    rows = sync_record.c
    its = (rows.workspace_id == workspace_id) & (rows.channel_id == channel_id)
    reports = select(rows.created_on, rows.power_level, rows.pending_count, rows.retry_count).where(its)
    hours: dict[datetime, dict[str, Any]] = {}
    for moment, power_level, pending, retried in tx.execute(reports.order_by(rows.id.desc()).limit(MOST_REPORTS)):
        hour = moment.replace(minute=0, second=0, microsecond=0)
        if moment >= tx.now - TOLD_FOR:
            report = {"hour": time_text(hour), "power_level": power_level, "pending": pending + retried}
            hours.setdefault(hour, report)
    return list(hours.values())[: TOLD_FOR // timedelta(hours=1)]


def _list_channels(tx: Transaction) -> list[int]:
    """The channels with calls; one index seek for each."""
    rows = gateway_call.c
    found = select(func.min(rows.channel_id).label("id")).cte("called", recursive=True)
    following = select(func.min(rows.channel_id)).where(rows.channel_id > found.c.id)
    found = found.union_all(select(following.scalar_subquery()).where(found.c.id.is_not(None)))
    return list(tx.execute(select(found.c.id).where(found.c.id.is_not(None))).scalars())


def _find_old(tx: Transaction, channel_id: int, limit: int) -> set[int]:
    rows = gateway_call.c
    its = select(rows.id).where(rows.channel_id == channel_id)
    old = its.where(rows.created_on < tx.now - KEPT_FOR).order_by(rows.created_on, rows.id).limit(limit)
    latest = its.order_by(rows.created_on.desc(), rows.id.desc()).offset(KEPT_CALLS).limit(limit)
    surplus = [latest.where(rows.direction == direction) for direction in (OUTWARD, INWARD)]
    return {each for chosen in (old, *surplus) for each in tx.execute(chosen).scalars()}


def _trim_channel(tx: Transaction, channel_id: int, limit: int) -> int:
    rows = gateway_call.c
    gone = _find_old(tx, channel_id, limit)
    for some in split(sorted(gone)):
        tx.execute(delete(gateway_call).where(rows.channel_id == channel_id, rows.id.in_(some)))
    return len(gone)


def _is_in_circle(now: datetime) -> ColumnElement[bool]:
    rows = message.c
    its = (rows.channel_id == channel.c.id) & (rows.workspace_id == channel.c.workspace_id)
    failed = IS_WATCHED & (rows.failed_reason == CIRCLE) & (rows.created_on > now - CIRCLE_ENDS_AFTER)
    return exists().where(its, failed)


def _is_draining() -> ColumnElement[bool]:
    level = channel.c.power_level
    return and_(channel.c.power_status.in_(DRAINING_STATUSES), level >= 0, level < BATTERY_LEVEL)


def _is_charged() -> ColumnElement[bool]:
    """Also by the level: a phone may be charged between two reports that both say that it is not charging."""
    return or_(channel.c.power_status.in_(CHARGED_STATUSES), channel.c.power_level >= CHARGED_LEVEL)


def _has_unsent(now: datetime) -> ColumnElement[bool]:
    return exists().where(
        message.c.channel_id == channel.c.id,
        message.c.workspace_id == channel.c.workspace_id,
        IS_UNSENT,
        message.c.created_on > now - UNSENT_UNTIL,
        message.c.created_on < now - UNSENT_AFTER,
        or_(message.c.due_on.is_(None), message.c.due_on < now - UNSENT_AFTER),
    )


def _is_quiet(now: datetime) -> ColumnElement[bool]:
    sent = exists().where(
        message.c.workspace_id == channel.c.workspace_id,
        message.c.folder == literal("sent", literal_execute=True),
        # The folder includes wired messages: a phone that only collects messages sends nothing.
        message.c.status.in_((SENT, DELIVERED, READ)),
        message.c.sent_on > now - QUIET_FOR,
        message.c.channel_id == channel.c.id,
    )
    alarmed = exists().where(_is_alarm_of_channel(), channel_alarm.c.opened_on > now - QUIET_FOR)
    return not_(or_(sent, alarmed))


def _is_alarm_of_channel() -> ColumnElement[bool]:
    """After a phone has moved, alarms of its previous workspace do not count."""
    return and_(channel_alarm.c.channel_id == channel.c.id, channel_alarm.c.workspace_id == channel.c.workspace_id)


def _close(tx: Transaction, kind: str, is_over: ColumnElement[bool]) -> None:
    ended = exists().where(_is_alarm_of_channel(), or_(is_over, not_(channel.c.is_active)))
    open_ones = (channel_alarm.c.kind == kind) & channel_alarm.c.closed_on.is_(None)
    tx.execute(update(channel_alarm).where(open_ones, ended).values(closed_on=tx.now))


def _open(tx: Transaction, kind: str, condition: ColumnElement[bool], *, of_phones: bool = True) -> int:
    """Opens alarms for the phones that meet this condition, or for channels of all types, and queues their events;
    returns the number opened.
    """
    is_open = exists().where(_is_alarm_of_channel(), channel_alarm.c.kind == kind, channel_alarm.c.closed_on.is_(None))
    is_phone = and_(IS_RELAYER if of_phones else true(), channel.c.is_active, channel.c.workspace_id.is_not(None))
    phones = select(
        channel.c.workspace_id, channel.c.id, literal(kind), literal(tx.now, channel_alarm.c.opened_on.type)
    ).where(is_phone, condition, not_(is_open))
    statement = (
        tx.upsert(channel_alarm)
        .from_select(["workspace_id", "channel_id", "kind", "opened_on"], phones)
        .on_conflict_do_nothing()
        .returning(channel_alarm.c.channel_id)
    )
    opened = list(tx.execute(statement).scalars())
    _queue_events(tx, kind, opened)
    return len(opened)


def _queue_events(tx: Transaction, kind: str, channel_ids: list[int]) -> None:
    if not channel_ids:
        return
    rows = channel.c
    # A backlog includes messages that wait in the database: the phone knows only what it has fetched.
    unsent = PENDING_COUNT if kind == BACKLOG else literal(0)
    whose = (rows.workspace_id, rows.id, rows.uuid, rows.address)
    statement = select(*whose, unsent, *columns_for(PhoneState, channel)).where(rows.id.in_(channel_ids))
    for workspace_id, channel_id, uuid, address, unsent_here, *reported in tx.execute(statement).all():
        state = PhoneState(*reported)
        state = replace(state, pending_count=max(state.pending_count, unsent_here))
        fields = alarm_fields(EventChannel(channel_id, uuid, address), state)
        record_channel_event(tx, workspace_id, channel_id, ALARM, fields)
