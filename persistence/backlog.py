"""The waiting work of all workspaces, for metrics and `relayboard status`, at a limited cost. Everything is found by an
index that contains little else than waiting work, and at most MOST rows are read for one number: a count of MOST means
that many or more, and the age of the oldest is then the age of the oldest among these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, and_, case, exists, func, literal, null, or_, select, union_all

from persistence.channels.alarms import LOST_AFTER
from persistence.channels.call_handling import IS_PENDING as IS_PENDING_CALL
from persistence.channels.channels import IS_RELAYER
from persistence.database import Transaction
from persistence.flow_starts.batches import IS_PENDING as IS_PENDING_BATCH
from persistence.flow_starts.flow_starts import IS_UNFINISHED, UNFINISHED, is_one_of
from persistence.messages.states import ERRORED, IS_UNHANDLED, IS_UNSENT, QUEUED
from persistence.sessions.sessions import IS_WAITING
from persistence.sql.columns import UtcDateTime
from persistence.tables.campaigns import IS_UNFIRED, campaign_fire
from persistence.tables.channels import channel, channel_event
from persistence.tables.contacts import READY, contact, group
from persistence.tables.deliveries import PENDING, delivery
from persistence.tables.flow_starts import flow_start, flow_start_batch
from persistence.tables.messages import broadcast, gateway_send, message
from persistence.tables.runs import flow_session
from persistence.tables.triggers import trigger

MOST = 10_000
MOST_CHANNELS = 1_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """Work of one job. `oldest_seconds` is how long the oldest has waited or is overdue; 0 if nothing waits."""

    count: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class ChannelQueue:
    """What a channel still has to send; channels with nothing to send are not listed."""

    uuid: str
    type: str
    waiting: Waiting


@dataclass(frozen=True, slots=True)
class Backlog:
    """The waiting work at one time. `kinds` is keyed by the name of the job; `expired_leases` by the kind of work
    that was abandoned."""

    kinds: Mapping[str, Waiting]
    channels: Sequence[ChannelQueue]
    contacts_waiting: int
    expired_leases: Mapping[str, int]
    phones: int
    silent_phones: int


def read_backlog(tx: Transaction) -> Backlog:
    """Four statements."""
    phones, silent = _count_phones(tx)
    return Backlog(
        _read_kinds(tx), _read_channels(tx), *_read_contacts_and_leases(tx), phones=phones, silent_phones=silent
    )


def _read_kinds(tx: Transaction) -> dict[str, Waiting]:
    now = tx.now
    unhandled_since = func.coalesce(message.c.stored_on, message.c.created_on)
    parts: list[tuple[str, Select[*tuple[Any, ...]]]] = [
        ("incoming", select(unhandled_since).where(IS_UNHANDLED).order_by(message.c.created_on)),
        ("calls", select(channel_event.c.created_on).where(IS_PENDING_CALL).order_by(channel_event.c.created_on)),
        ("timers", _due(flow_session.c.timeout_on, IS_WAITING, now)),
        ("timers", _due(flow_session.c.expires_on, IS_WAITING, now)),
        ("starts", select(flow_start.c.created_on).where(IS_UNFINISHED).order_by(flow_start.c.modified_on)),
        ("broadcasts", select(broadcast.c.created_on).where(_IS_UNSENT_BROADCAST).order_by(broadcast.c.modified_on)),
        ("campaigns", _due(campaign_fire.c.due_on, IS_UNFIRED, now)),
        ("schedules", _due(trigger.c.next_fire_on, trigger.c.next_fire_on.is_not(None), now)),
        ("webhooks", select(delivery.c.created_on).where(_IS_PENDING_DELIVERY).order_by(*_BY_RECEIVER)),
        ("groups", select(group.c.modified_on).where(_IS_UNREADY).order_by(group.c.status)),
    ]
    counted = []
    for kind, rows in parts:
        some = rows.limit(MOST).subquery()
        oldest = func.min(some.c[0], type_=UtcDateTime)
        counted.append(select(literal(kind), func.count(), oldest).select_from(some))
    kinds: dict[str, Waiting] = {}
    for kind, count, oldest_on in tx.execute(union_all(*counted)).all():
        before = kinds.get(kind, Waiting(0, 0.0))
        kinds[kind] = Waiting(before.count + count, max(before.oldest_seconds, _age(now, oldest_on)))
    return kinds


def _read_channels(tx: Transaction) -> list[ChannelQueue]:
    """Phones with the messages that they have not fetched, gateways with those that they have not accepted."""
    of_phone = and_(message.c.channel_id == channel.c.id, message.c.workspace_id == channel.c.workspace_id)
    of_gateway = and_(gateway_send.c.channel_id == channel.c.id, gateway_send.c.workspace_id == channel.c.workspace_id)
    unsent = (
        select(message.c.status, message.c.created_on)
        .where(of_phone, IS_UNSENT, IS_RELAYER)
        .order_by(message.c.created_on)
        .limit(MOST)
        .correlate(channel)
        .subquery()
    )
    is_queued = unsent.c.status.in_((QUEUED, ERRORED))
    sending = select(gateway_send.c.created_on).where(of_gateway).limit(MOST).correlate(channel).subquery()
    oldest = [
        select(func.min(rows.c.created_on, type_=UtcDateTime)).where(condition).correlate(channel).scalar_subquery()
        for rows, condition in ((unsent, is_queued), (sending, literal(True)))
    ]
    count = (
        select(func.count()).select_from(unsent).where(is_queued).scalar_subquery()
        + select(func.count()).select_from(sending).scalar_subquery()
    )
    has_any = or_(
        exists(select(literal(1)).where(of_phone, IS_UNSENT, IS_RELAYER).correlate(channel)),
        exists(select(literal(1)).where(of_gateway).correlate(channel)),
    )
    rows = select(channel.c.uuid, channel.c.type, count, func.coalesce(*oldest)).where(channel.c.is_active, has_any)
    found = tx.execute(rows.order_by(channel.c.id).limit(MOST_CHANNELS)).all()
    return [
        ChannelQueue(uuid, type_, Waiting(count, _age(tx.now, oldest_on)))
        for uuid, type_, count, oldest_on in found
        if count
    ]


def _read_contacts_and_leases(tx: Transaction) -> tuple[int, dict[str, int]]:
    """How many contacts have messages that are not handled, and how many leases expired, by their kind."""
    now = tx.now
    unhandled = (
        select(message.c.workspace_id, message.c.contact_id)
        .where(IS_UNHANDLED)
        .order_by(message.c.created_on)
        .limit(MOST)
        .subquery()
    )
    sends = select(gateway_send.c.parts_begun, gateway_send.c.parts_accepted, gateway_send.c.due_on).limit(MOST)
    parts = sends.subquery()
    pending = select(delivery.c.due_on, delivery.c.scheduled_on).where(_IS_PENDING_DELIVERY).order_by(*_BY_RECEIVER)
    deliveries = pending.limit(MOST).subquery()
    due = select(flow_start_batch.c.leased_until).where(IS_PENDING_BATCH).order_by(flow_start_batch.c.number)
    batches = due.limit(MOST).subquery()
    groups = select(group.c.evaluated_until).where(_IS_UNREADY).order_by(group.c.status).limit(MOST).subquery()
    held = and_(contact.c.id == unhandled.c.contact_id, contact.c.workspace_id == unhandled.c.workspace_id)
    left_lying: dict[str, tuple[Any, ColumnElement[bool]]] = {
        "contacts": (unhandled.join(contact, held), contact.c.handling_until <= now),
        "sending": (parts, and_(parts.c.parts_begun > parts.c.parts_accepted, parts.c.due_on <= now)),
        "webhooks": (deliveries, and_(deliveries.c.due_on <= now, deliveries.c.due_on != deliveries.c.scheduled_on)),
        "starts": (batches, batches.c.leased_until <= now),
        "groups": (groups, groups.c.evaluated_until <= now),
    }
    counts = [
        select(literal(name), func.count()).select_from(rows).where(condition)
        for name, (rows, condition) in left_lying.items()
    ]
    waiting = select(literal(""), func.count(unhandled.c.contact_id.distinct()))
    expired: dict[str, int] = {name: count for name, count in tx.execute(union_all(waiting, *counts))}
    return expired.pop(""), expired


def _count_phones(tx: Transaction) -> tuple[int, int]:
    """The number of claimed phones, and of those that have been silent long enough for an alarm."""
    is_silent = func.coalesce(channel.c.last_seen, channel.c.created_on) < tx.now - LOST_AFTER
    silent = func.count(case((is_silent, 1), else_=null()))
    phones = select(func.count(), silent).where(IS_RELAYER, channel.c.is_active, channel.c.workspace_id.is_not(None))
    count, silent_count = tx.execute(phones).one()
    return count, silent_count


_IS_PENDING_DELIVERY: ColumnElement[bool] = delivery.c.status == literal(PENDING, literal_execute=True)
_IS_UNSENT_BROADCAST = is_one_of(broadcast.c.status, UNFINISHED)
_IS_UNREADY: ColumnElement[bool] = group.c.status != literal(READY, literal_execute=True)
_BY_RECEIVER = (delivery.c.receiver, delivery.c.due_on)


def _due(moment: Column[Any], is_open: ColumnElement[bool], now: datetime) -> Select[*tuple[Any, ...]]:
    return select(moment).where(is_open, moment <= now).order_by(moment)


def _age(now: datetime, moment: datetime | None) -> float:
    return 0.0 if moment is None else max(now - moment, timedelta(0)).total_seconds()
