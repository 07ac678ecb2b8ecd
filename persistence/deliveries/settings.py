"""What was set for one receiver of webhooks: its retry delays, its rate limit, and how its events are signed."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, and_, delete, exists, or_, select, update

from persistence.channels.gateway_pace import Pace
from persistence.database import Transaction
from persistence.deliveries.failing_receivers import Endpoint, end_trouble
from persistence.tables.channels import channel
from persistence.tables.deliveries import PENDING, delivery, resthook_subscriber, webhook_receiver

_rows = webhook_receiver.c
OF_CHANNEL = and_(_rows.channel_id == channel.c.id, _rows.workspace_id == channel.c.workspace_id)
OF_SUBSCRIBER = and_(
    _rows.subscriber_id == resthook_subscriber.c.id, _rows.workspace_id == resthook_subscriber.c.workspace_id
)
"""The settings of a channel's or a subscriber's receiver, for a join."""
IS_SUBSCRIBER_PACED = exists(
    select(_rows.id).where(OF_SUBSCRIBER, _rows.per_second.is_not(None)).correlate(resthook_subscriber)
)
"""Whether a subscriber of the enclosing statement has a rate limit; flows do not call these directly."""


def name_receiver(url: str, paced: Endpoint | None = None) -> str:
    """The receiver of a URL, which all deliveries to one server share: scheme, host and port. A receiver with a rate
    limit of its own, `paced`, shares it with no other.
    """
    parts = urlsplit(url)
    name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()
    return name[:300] if paced is None else f"{name[:260]} {paced.kind} {paced.number}"


def read_paced(workspace_id: int, receiver: str) -> Endpoint | None:
    """The receiver with a rate limit that `name_receiver` named, if it is one."""
    _, _, paced = receiver.partition(" ")
    if not paced:
        return None
    kind, _, number = paced.partition(" ")
    if kind == "channel":
        return Endpoint(workspace_id, channel_id=int(number))
    return Endpoint(workspace_id, subscriber_id=int(number))


def is_paced(tx: Transaction, endpoint: Endpoint) -> bool:
    """Whether a receiver has a rate limit of its own."""
    found = select(_rows.id).where(is_of(endpoint), _rows.per_second.is_not(None))
    return tx.execute(found).first() is not None


def name_at(tx: Transaction, endpoint: Endpoint, url: str) -> str:
    """The receiver of a URL that belongs to this channel or subscriber now."""
    return name_receiver(url, endpoint if is_paced(tx, endpoint) else None)


def is_of(endpoint: Endpoint) -> ColumnElement[bool]:
    """The condition on the settings of one receiver."""
    mine = _rows.workspace_id == endpoint.workspace_id
    if endpoint.subscriber_id is not None:
        return mine & (_rows.subscriber_id == endpoint.subscriber_id)
    return mine & (_rows.channel_id == endpoint.channel_id)


def is_delivery_to(endpoint: Endpoint) -> ColumnElement[bool]:
    """The condition on the deliveries of one receiver."""
    mine = delivery.c.workspace_id == endpoint.workspace_id
    if endpoint.subscriber_id is not None:
        return and_(mine, delivery.c.subscriber_id == endpoint.subscriber_id)
    return and_(mine, delivery.c.channel_id == endpoint.channel_id, delivery.c.subscriber_id.is_(None))


def change_settings(tx: Transaction, endpoint: Endpoint, values: Mapping[str, Any]) -> None:
    """Sets columns of a receiver's settings; the row is created if needed."""
    keys = {"workspace_id": endpoint.workspace_id, "channel_id": endpoint.channel_id}
    keys = keys | {"subscriber_id": endpoint.subscriber_id}
    tx.execute(tx.upsert(webhook_receiver).values(**keys).on_conflict_do_nothing())
    tx.execute(update(webhook_receiver).where(is_of(endpoint)).values(**values))


def set_pace(tx: Transaction, endpoint: Endpoint, url: str, per_second: float | None) -> None:
    """Sets or removes the rate limit of a receiver, also for what waits for it."""
    change_settings(tx, endpoint, {"per_second": per_second, "paced_until": None})
    name = name_receiver(url, None if per_second is None else endpoint)
    waiting = is_delivery_to(endpoint) & (delivery.c.status == PENDING)
    tx.execute(update(delivery).where(waiting).values(receiver=name))


def switch_on(tx: Transaction, endpoint: Endpoint) -> bool:
    """Switches a receiver on that a person switched off or that failed for long, and forgets its failures; returns
    whether there was anything of that.
    """
    chosen = is_of(endpoint) & _rows.switched_off_on.is_not(None)
    was_off = tx.execute(update(webhook_receiver).where(chosen).values(switched_off_on=None)).rowcount > 0
    channel_ids = [] if endpoint.channel_id is None else [endpoint.channel_id]
    subscriber_ids = [] if endpoint.subscriber_id is None else [endpoint.subscriber_id]
    return end_trouble(tx, channel_ids=channel_ids, subscriber_ids=subscriber_ids) > 0 or was_off


def forget_settings(tx: Transaction, workspace_id: int, subscriber_ids: Collection[int]) -> None:
    """Deletes the settings of subscribers that are no more."""
    theirs = (_rows.workspace_id == workspace_id) & _rows.subscriber_id.in_(subscriber_ids)
    tx.execute(delete(webhook_receiver).where(theirs))


def lock_paces(tx: Transaction, endpoints: Sequence[Endpoint]) -> dict[Endpoint, Pace]:
    """The paces of these receivers, locked in one order until the transaction ends. A receiver whose limit was just
    removed has none.
    """
    if not endpoints:
        return {}
    theirs = or_(*(is_of(each) for each in endpoints)) & _rows.per_second.is_not(None)
    columns = (_rows.workspace_id, _rows.channel_id, _rows.subscriber_id, _rows.per_second, _rows.paced_until)
    found = tx.execute(select(*columns).where(theirs).order_by(_rows.id).with_for_update(key_share=True))
    return {
        Endpoint(workspace_id, channel_id, subscriber_id): Pace(per_second, paced_until or tx.now, tx.now)
        for workspace_id, channel_id, subscriber_id, per_second, paced_until in found
        if per_second is not None
    }


def charge_paces(tx: Transaction, paces: Mapping[Endpoint, Pace], counts: Mapping[Endpoint, int]) -> None:
    """Counts requests against the limits of their receivers."""
    for endpoint, count in counts.items():
        if endpoint in paces and count:
            spent_until = paces[endpoint].after(count).spent_until
            tx.execute(update(webhook_receiver).where(is_of(endpoint)).values(paced_until=spent_until))


LEAST_LOOK = timedelta(milliseconds=5)


def next_look(pace: Pace, now: datetime) -> datetime:
    """When a receiver that has used its limit may get something again."""
    return max(pace.next_on, now + LEAST_LOOK)
