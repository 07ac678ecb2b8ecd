"""The waiting work of all workspaces, for metrics and `relayboard status`, at a limited cost. Everything is found by an
index that contains little else than waiting work, and at most MOST rows are read for one number: a count of MOST
means that many or more, and the age of the oldest is then the age of the oldest among these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, and_, case, exists, func, literal, null, or_, select, union_all

from persistence.broadcasts.records import IS_GOING, WAITS
from persistence.channels.channels import IS_REFUSED, IS_RELAYER, LOST_AFTER
from persistence.conversations import IS_PUT_AWAY
from persistence.data_jobs import TABLES as DATA_JOBS
from persistence.data_jobs import is_due
from persistence.database import Transaction
from persistence.leases import list_due_workspaces, list_workspaces
from persistence.media.incoming import IS_EXPECTED
from persistence.sessions.parking import IS_WAITING
from persistence.sql.columns import UtcDateTime
from persistence.tables.accounts import account_mail
from persistence.tables.campaigns import IS_UNFIRED, campaign_fire, trigger
from persistence.tables.changes import conversation
from persistence.tables.channels import channel, channel_check, channel_event, phone_push
from persistence.tables.contacts import READY, contact, group
from persistence.tables.deliveries import PENDING, delivery
from persistence.tables.flows import (
    IS_PENDING_BATCH,
    IS_UNFINISHED,
    flow,
    flow_session,
    flow_start,
    flow_start_batch,
    parked_sprint,
)
from persistence.tables.messages import (
    ERRORED,
    IS_UNCERTAIN,
    IS_UNHANDLED,
    IS_UNSENT,
    QUEUED,
    broadcast,
    gateway_send,
    incoming_file,
    message,
)

MOST = 10_000
MOST_CHANNELS = 1_000
MOST_WORKSPACES = 200
LEAST = 100
"""Rows of one workspace that are looked at, however many workspaces there are."""

_IS_PENDING_DELIVERY: ColumnElement[bool] = delivery.c.status == literal(PENDING, literal_execute=True)
_IS_UNREADY: ColumnElement[bool] = (group.c.status != literal(READY, literal_execute=True)) & group.c.error.is_(None)
_BY_RECEIVER = (delivery.c.workspace_id, delivery.c.receiver, delivery.c.due_on)
_BY_BATCH = (flow_start_batch.c.workspace_id, flow_start_batch.c.number)
_CALLED_ON = channel_event.c.created_on


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
    uncertain: Sequence[ChannelQueue] = ()


@dataclass(frozen=True, slots=True)
class _Queue:
    """Waiting rows, in a partial index of their condition that begins with the workspace, followed by `order`. If the
    index also contains rows for later, `due` is the column of their time, the next in the index.
    """

    kind: str
    owner: Column[int]
    moment: ColumnElement[Any]
    waits: ColumnElement[bool]
    order: tuple[Column[Any], ...]
    due: Column[Any] | None = None


def read_backlog(tx: Transaction) -> Backlog:
    """Reads everything in at most 20 statements; about a dozen if little work waits."""
    phones, silent = count_phones(tx)
    kinds = _read_kinds(tx) | _read_small_kinds(tx)
    channels, (contacts, leases) = _read_channels(tx), _read_contacts_and_leases(tx)
    uncertain = _read_uncertain(tx)
    return Backlog(kinds, channels, contacts, leases, phones=phones, silent_phones=silent, uncertain=uncertain)


def count_phones(tx: Transaction) -> tuple[int, int]:
    """The number of claimed phones, and of those that have been silent long enough for an alarm."""
    is_silent = func.coalesce(channel.c.last_seen, channel.c.created_on) < tx.now - LOST_AFTER
    silent = func.count(case((is_silent, 1), else_=null()))
    phones = select(func.count(), silent).where(IS_RELAYER, channel.c.is_active, channel.c.workspace_id.is_not(None))
    count, silent_count = tx.execute(phones).one()
    return count, silent_count


def list_refused_phones(tx: Transaction) -> list[tuple[str, str]]:
    """The phones that were refused when they called last, by UUID, and why."""
    found = select(channel.c.uuid, channel.c.refused_reason).where(IS_REFUSED, channel.c.workspace_id.is_not(None))
    rows = tx.execute(found.order_by(channel.c.id).limit(MOST_CHANNELS))
    return [(uuid, reason or "") for uuid, reason in rows]


_QUEUES = (
    _Queue(
        "incoming",
        message.c.workspace_id,
        func.coalesce(message.c.stored_on, message.c.created_on),
        IS_UNHANDLED,
        (message.c.created_on,),
    ),
    _Queue(
        "calls",
        channel_event.c.workspace_id,
        channel_event.c.created_on,
        channel_event.c.is_pending,
        (channel_event.c.created_on,),
    ),
    *(
        _Queue("timers", flow_session.c.workspace_id, moment, IS_WAITING, (moment,), moment)
        for moment in (flow_session.c.timeout_on, flow_session.c.expires_on)
    ),
    _Queue("starts", flow_start.c.workspace_id, flow_start.c.created_on, IS_UNFINISHED, (flow_start.c.modified_on,)),
    _Queue("broadcasts", broadcast.c.workspace_id, broadcast.c.created_on, IS_GOING, (broadcast.c.modified_on,)),
    _Queue(
        "broadcasts",
        broadcast.c.workspace_id,
        broadcast.c.scheduled_on,
        WAITS,
        (broadcast.c.scheduled_on,),
        broadcast.c.scheduled_on,
    ),
    _Queue(
        "campaigns",
        campaign_fire.c.workspace_id,
        campaign_fire.c.due_on,
        IS_UNFIRED,
        (campaign_fire.c.due_on,),
        campaign_fire.c.due_on,
    ),
    _Queue(
        "snoozes",
        conversation.c.workspace_id,
        conversation.c.snoozed_until,
        IS_PUT_AWAY,
        (conversation.c.snoozed_until,),
        conversation.c.snoozed_until,
    ),
    _Queue(
        "files",
        incoming_file.c.workspace_id,
        incoming_file.c.created_on,
        IS_EXPECTED,
        (incoming_file.c.leased_until,),
        incoming_file.c.leased_until,
    ),
    _Queue(
        "pushes",
        phone_push.c.workspace_id,
        phone_push.c.due_on,
        phone_push.c.due_on.is_not(None),
        (phone_push.c.via, phone_push.c.due_on),
        phone_push.c.due_on,
    ),
    _Queue("webhooks", delivery.c.workspace_id, delivery.c.created_on, _IS_PENDING_DELIVERY, _BY_RECEIVER[1:]),
)


def _read_kinds(tx: Transaction) -> dict[str, Waiting]:
    kinds: dict[str, Waiting] = {}
    for queue in _QUEUES:
        found, before = _read_queue(tx, queue), kinds.get(queue.kind, Waiting(0, 0.0))
        oldest_seconds = max(before.oldest_seconds, found.oldest_seconds)
        kinds[queue.kind] = Waiting(before.count + found.count, oldest_seconds)
    return kinds


def _read_queue(tx: Transaction, queue: _Queue) -> Waiting:
    """The first rows of each workspace that has any."""
    conditions = [queue.waits]
    if queue.due is None:
        owners = list_workspaces(tx, queue.owner, queue.waits)
    else:
        is_due = queue.due <= tx.now
        conditions.append(is_due)
        owners = list_due_workspaces(tx, queue.owner, queue.waits, is_due, queue.due)
    if not owners:
        return Waiting(0, 0.0)
    most = max(MOST // len(owners), LEAST)
    found = select(queue.moment.label("moment")).where(*conditions).order_by(*queue.order).limit(most)
    firsts = [found.where(queue.owner == owner).subquery() for owner in owners[:MOST_WORKSPACES]]
    rows = union_all(*(select(each.c.moment) for each in firsts)).subquery()
    count, oldest_on = tx.execute(select(func.count(), func.min(rows.c.moment, type_=UtcDateTime))).one()
    return Waiting(count, _age(tx.now, oldest_on))


def _read_small_kinds(tx: Transaction) -> dict[str, Waiting]:
    """Reads the kinds whose tables or indexes contain little besides waiting work."""
    scheduled = trigger.c.next_fire_on
    jobs = union_all(*(select(each.c.created_on).where(is_due(each)) for each in DATA_JOBS)).subquery()
    parts: dict[str, Select[*tuple[Any, ...]]] = {
        "parked": select(parked_sprint.c.parked_on).order_by(parked_sprint.c.id),
        "schedules": select(scheduled).where(scheduled.is_not(None), scheduled <= tx.now).order_by(scheduled),
        "groups": select(group.c.modified_on).where(_IS_UNREADY).order_by(group.c.status),
        "counts": select(flow.c.counted_on).where(flow.c.counted_on.is_not(None)).order_by(flow.c.counted_on),
        "data": select(jobs.c.created_on).order_by(jobs.c.created_on),
        "checks": select(channel_check.c.due_on)
        .where(channel_check.c.due_on.is_not(None), channel_check.c.due_on <= tx.now)
        .order_by(channel_check.c.due_on),
        "mail": select(account_mail.c.created_on)
        .where(account_mail.c.expires_on > tx.now, account_mail.c.failed_on.is_(None))
        .order_by(account_mail.c.created_on),
    }
    counted = []
    for kind, rows in parts.items():
        some = rows.limit(MOST).subquery()
        oldest = func.min(some.c[0], type_=UtcDateTime)
        counted.append(select(literal(kind), func.count(), oldest).select_from(some))
    found = tx.execute(union_all(*counted)).all()
    return {kind: Waiting(count, _age(tx.now, oldest_on)) for kind, count, oldest_on in found}


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


def _read_uncertain(tx: Transaction) -> list[ChannelQueue]:
    """Messages of which nobody knows whether their gateway has them."""
    its = (message.c.channel_id == channel.c.id) & (message.c.workspace_id == channel.c.workspace_id)
    some = select(message.c.created_on).where(its, IS_UNCERTAIN).limit(MOST).correlate(channel).subquery()
    count = select(func.count()).select_from(some).correlate(channel).scalar_subquery()
    oldest = select(func.min(some.c.created_on, type_=UtcDateTime)).correlate(channel).scalar_subquery()
    has_any = exists(select(literal(1)).where(its, IS_UNCERTAIN).correlate(channel))
    rows = select(channel.c.uuid, channel.c.type, count, oldest).where(channel.c.is_active, has_any)
    found = tx.execute(rows.order_by(channel.c.id).limit(MOST_CHANNELS))
    return [
        ChannelQueue(uuid, type_, Waiting(number, _age(tx.now, oldest_on))) for uuid, type_, number, oldest_on in found
    ]


def _read_contacts_and_leases(tx: Transaction) -> tuple[int, dict[str, int]]:
    """How many contacts have messages that are not handled, and how many leases expired, by their kind."""
    now = tx.now
    unhandled = (
        select(message.c.workspace_id, message.c.contact_id)
        .where(IS_UNHANDLED)
        .order_by(message.c.workspace_id, message.c.created_on)
        .limit(MOST)
        .subquery()
    )
    sends = select(gateway_send.c.parts_begun, gateway_send.c.parts_accepted, gateway_send.c.due_on).limit(MOST)
    parts = sends.subquery()
    pending = select(delivery.c.due_on, delivery.c.scheduled_on).where(_IS_PENDING_DELIVERY).order_by(*_BY_RECEIVER)
    deliveries = pending.limit(MOST).subquery()
    due = select(flow_start_batch.c.leased_until).where(IS_PENDING_BATCH).order_by(*_BY_BATCH)
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


def _age(now: datetime, moment: datetime | None) -> float:
    return 0.0 if moment is None else max(now - moment, timedelta(0)).total_seconds()
