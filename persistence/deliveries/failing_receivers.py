"""Receivers that fail for long are switched off. A failing receiver has one row; healthy receivers have none. The row
is created when the first delivery is given up, counts the following ones, and is deleted when a delivery is accepted.
If it has lasted too long, the receiver is switched off until it is switched on again, its URL is set, or it accepts a
delivery that an operator sends.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Executable, bindparam, delete, exists, or_, select, update

from persistence.database import Transaction
from persistence.sql.columns import time_text
from persistence.sql.fixed_statements import Fixed, among
from persistence.tables.channels import channel
from persistence.tables.deliveries import resthook_subscriber, webhook_receiver, webhook_trouble

LEAST_GIVEN_UP = 20
"""With fewer deliveries given up than this a receiver is not switched off."""
LONGEST_PAUSE = 2 / 3
"""After a pause longer than this part of the time, failures are counted from the start, because a pause without
attempts is not a failure."""


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


def _lock_known(tx: Transaction, endpoints: Collection[Endpoint]) -> dict[Endpoint, _Trouble]:
    """The rows of these endpoints, locked in one order to avoid deadlocks."""
    if not endpoints:
        return {}
    channels = _numbers(each.channel_id for each in endpoints)
    subscribers = _numbers(each.subscriber_id for each in endpoints)
    found = _LOCKING.rows(tx, {"channels": channels, "subscribers": subscribers})
    return {
        Endpoint(workspace_id, channel_id, subscriber_id): _Trouble(
            number, began_on, failed_on, given_up, off_on, reason
        )
        for workspace_id, channel_id, subscriber_id, number, began_on, failed_on, given_up, off_on, reason in found
    }


def _lock(_is_sqlite: bool) -> Executable:
    rows = webhook_trouble.c
    theirs = or_(among(rows.channel_id, "channels"), among(rows.subscriber_id, "subscribers"))
    columns = (rows.id, rows.began_on, rows.last_failed_on, rows.given_up, rows.switched_off_on, rows.reason)
    chosen = select(rows.workspace_id, rows.channel_id, rows.subscriber_id, *columns)
    return chosen.where(theirs).order_by(rows.id).with_for_update()


_LOCKING = Fixed(_lock, is_prepared=False)


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
