"""What was set for one receiver of webhooks: its retry delays, its rate limit, and how its events are signed.

Receivers that fail for long are switched off. A failing receiver has one row; healthy receivers have none. The row is
created when the first delivery is given up, counts the following ones, and is deleted when a delivery is accepted. If
it has lasted too long, the receiver is switched off until it is switched on again, its URL is set, or it accepts a
delivery that an operator sends.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, Executable, and_, bindparam, delete, exists, or_, select

from persistence.channels.gateway_pace import Pace
from persistence.database import Transaction
from persistence.sql.columns import time_text
from persistence.statements import among, statement, update
from persistence.tables.channels import channel
from persistence.tables.deliveries import PENDING, delivery, resthook_subscriber, webhook_receiver, webhook_trouble

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

LEAST_LOOK = timedelta(milliseconds=5)

LEAST_GIVEN_UP = 20
"""With fewer deliveries given up than this a receiver is not switched off."""
LONGEST_PAUSE = 2 / 3
"""After a pause longer than this part of the time, failures are counted from the start, because a pause without
attempts is not a failure."""

_trouble, _settings = webhook_trouble.c, webhook_receiver.c
_FAILED = select(_trouble.id).where(_trouble.switched_off_on.is_not(None)).correlate(channel, resthook_subscriber)
_CHOSEN = select(_settings.id).where(_settings.switched_off_on.is_not(None)).correlate(channel, resthook_subscriber)
IS_SUBSCRIBER_OFF = or_(
    exists(_FAILED.where(_trouble.subscriber_id == resthook_subscriber.c.id)),
    exists(
        _CHOSEN.where(
            _settings.subscriber_id == resthook_subscriber.c.id,
            _settings.workspace_id == resthook_subscriber.c.workspace_id,
        )
    ),
)
IS_CHANNEL_OFF = or_(
    exists(_FAILED.where(_trouble.channel_id == channel.c.id, _trouble.workspace_id == channel.c.workspace_id)),
    exists(_CHOSEN.where(_settings.channel_id == channel.c.id, _settings.workspace_id == channel.c.workspace_id)),
)
"""Whether a subscriber, or a channel in its workspace, of the enclosing statement is switched off, because it failed
for long or by a person."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The delivery URL of a channel, or a subscriber of a resthook."""

    workspace_id: int
    channel_id: int | None = None
    subscriber_id: int | None = None

    @property
    def kind(self) -> str:
        return "channel" if self.subscriber_id is None else "subscriber"

    @property
    def number(self) -> int | None:
        return self.channel_id if self.subscriber_id is None else self.subscriber_id


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


def next_look(pace: Pace, now: datetime) -> datetime:
    """When a receiver that has used its limit may get something again."""
    return max(pace.next_on, now + LEAST_LOOK)


@dataclass(frozen=True, slots=True)
class GivenUp:
    """How many deliveries to an endpoint were just given up, and the reason for the last one."""

    count: int
    why: str


@dataclass(frozen=True, slots=True)
class SwitchedOff:
    """A switched-off endpoint, with the reason and the time."""

    endpoint: Endpoint
    reason: str
    since: datetime


@dataclass(frozen=True, slots=True)
class _Trouble:
    """The row of a failing endpoint."""

    id: int
    began_on: datetime
    last_failed_on: datetime
    given_up: int
    switched_off_on: datetime | None
    reason: str | None


def note_outcomes(
    tx: Transaction,
    accepted: Collection[Endpoint],
    given_up: Mapping[Endpoint, GivenUp],
    switch_off_after: timedelta,
) -> list[SwitchedOff]:
    """Stores the outcomes of deliveries; returns the endpoints that have failed for too long and are now switched off.
    An endpoint that accepted anything is healthy. A limit of 0 means never.
    """
    known = _lock_known(tx, {*accepted, *given_up})
    healthy = [known[each].id for each in accepted if each in known]
    if healthy:
        tx.execute(delete(webhook_trouble).where(webhook_trouble.c.id.in_(sorted(healthy))))
    failing = sorted(set(given_up) - set(accepted), key=lambda each: (each.kind, each.number))
    _begin(tx, [(each, given_up[each]) for each in failing if each not in known])
    moved = [(each, _go_on(tx.now, known[each], given_up[each], switch_off_after)) for each in failing if each in known]
    if moved:
        changes = update(webhook_trouble).where(webhook_trouble.c.id == bindparam("row_id"))
        tx.execute(changes, [values for _, values in moved])
    return [
        SwitchedOff(each, str(values["reason"]), tx.now)
        for each, values in moved
        if values["switched_off_on"] == tx.now
    ]


def list_switched_off(tx: Transaction, workspace_id: int) -> list[SwitchedOff]:
    """The switched-off endpoints of a workspace."""
    rows = webhook_trouble.c
    off = (rows.workspace_id == workspace_id) & rows.switched_off_on.is_not(None)
    columns = (rows.channel_id, rows.subscriber_id, rows.reason, rows.switched_off_on)
    return [
        SwitchedOff(Endpoint(workspace_id, channel_id, subscriber_id), reason or "", since)
        for channel_id, subscriber_id, reason, since in tx.execute(select(*columns).where(off).order_by(rows.id))
        if since is not None
    ]


def end_trouble(tx: Transaction, *, channel_ids: Collection[int] = (), subscriber_ids: Collection[int] = ()) -> int:
    """Deletes the failures of endpoints, which switches them on; returns how many had failed."""
    rows = webhook_trouble.c
    theirs = or_(rows.channel_id.in_(channel_ids), rows.subscriber_id.in_(subscriber_ids))
    return tx.execute(delete(webhook_trouble).where(theirs)).rowcount


@statement(is_prepared=False)
def _lock_troubles(channel_ids: Sequence[int], subscriber_ids: Sequence[int]) -> Executable:
    rows = webhook_trouble.c
    theirs = or_(among(rows.channel_id, channel_ids), among(rows.subscriber_id, subscriber_ids))
    columns = (rows.id, rows.began_on, rows.last_failed_on, rows.given_up, rows.switched_off_on, rows.reason)
    chosen = select(rows.workspace_id, rows.channel_id, rows.subscriber_id, *columns)
    return chosen.where(theirs).order_by(rows.id).with_for_update()


def _lock_known(tx: Transaction, endpoints: Collection[Endpoint]) -> dict[Endpoint, _Trouble]:
    """The rows of these endpoints, locked in one order to avoid deadlocks."""
    if not endpoints:
        return {}
    channels = _numbers(each.channel_id for each in endpoints)
    subscribers = _numbers(each.subscriber_id for each in endpoints)
    found = _lock_troubles.rows(tx, channels, subscribers)
    return {
        Endpoint(workspace_id, channel_id, subscriber_id): _Trouble(
            number, began_on, failed_on, given_up, off_on, reason
        )
        for workspace_id, channel_id, subscriber_id, number, began_on, failed_on, given_up, off_on, reason in found
    }


def _numbers(ids: Iterable[int | None]) -> list[int]:
    return sorted({each for each in ids if each is not None})


def _begin(tx: Transaction, failing: Collection[tuple[Endpoint, GivenUp]]) -> None:
    if not failing:
        return
    rows = [
        {
            "workspace_id": each.workspace_id,
            "channel_id": each.channel_id,
            "subscriber_id": each.subscriber_id,
            "began_on": tx.now,
            "last_failed_on": tx.now,
            "given_up": failed.count,
        }
        for each, failed in failing
    ]
    # Another worker may have created the same row: then this one failure does not matter.
    tx.execute(tx.upsert(webhook_trouble).on_conflict_do_nothing(), rows)


def _go_on(now: datetime, known: _Trouble, failed: GivenUp, switch_off_after: timedelta) -> dict[str, Any]:
    is_on = known.switched_off_on is None
    began_on, count = known.began_on, known.given_up + failed.count
    if is_on and now - known.last_failed_on > switch_off_after * LONGEST_PAUSE:
        began_on, count = now, failed.count
    values = {"row_id": known.id, "began_on": began_on, "last_failed_on": now, "given_up": count}
    off = {"switched_off_on": known.switched_off_on, "reason": known.reason}
    if is_on and switch_off_after and now - began_on >= switch_off_after and count >= LEAST_GIVEN_UP:
        lost = f"Nothing was accepted since {time_text(began_on)}, and {count} deliveries were given up."
        off = {"switched_off_on": now, "reason": f"{lost} The last one: {failed.why}"}
    return values | off
