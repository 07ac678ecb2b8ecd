"""Alarms of phones: lost contact, low battery, unsent backlog; and of all channels: automatic answers in a circle.
There is one event when an alarm opens, and none while it lasts."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    and_,
    delete,
    exists,
    func,
    literal,
    not_,
    or_,
    select,
    true,
    update,
)

from persistence.channels.event_form import ALARM, EventChannel, PhoneState, alarm_fields
from persistence.channels.states import IS_RELAYER, LOST_AFTER
from persistence.database import Transaction
from persistence.deliveries.outbox import record_channel_event
from persistence.messages.states import CIRCLE, DELIVERED, IS_UNSENT, IS_WATCHED, PENDING_COUNT, READ, SENT
from persistence.sql.columns import columns_for
from persistence.tables.channels import channel, channel_alarm
from persistence.tables.messages import message

BATTERY, LOST_CONTACT, BACKLOG, IN_CIRCLE = "battery", "lost_contact", "backlog", "circle"

BATTERY_LEVEL, CHARGED_LEVEL = 25, 50
DRAINING_STATUSES = ("DIS", "UNK", "NOT")
CHARGED_STATUSES = ("CHA", "FUL")
UNSENT_AFTER, UNSENT_UNTIL = timedelta(minutes=30), timedelta(hours=24)
KEPT_FOR = timedelta(days=90)
CIRCLE_ENDS_AFTER = timedelta(hours=1)
QUIET_FOR = timedelta(hours=6)
"""A backlog opens an alarm if for this long nothing was sent and no alarm of any kind was opened."""


def note_power_report(tx: Transaction, workspace_id: int, channel_id: int) -> None:
    """Open or close the battery alarm after a phone's status report; call it after the report is stored in the
    channel row."""
    is_this = and_(channel.c.workspace_id == workspace_id, channel.c.id == channel_id)
    _close(tx, BATTERY, and_(is_this, _is_charged()))
    _open(tx, BATTERY, and_(is_this, _is_draining()))


def trim_alarms(tx: Transaction, limit: int) -> int:
    """Deletes alarms that were closed longer than KEPT_FOR ago; returns their number."""
    rows = channel_alarm.c
    old = select(rows.id).where(rows.closed_on < tx.now - KEPT_FOR).order_by(rows.closed_on, rows.id).limit(limit)
    return tx.execute(delete(channel_alarm).where(rows.id.in_(old.scalar_subquery()))).rowcount


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
