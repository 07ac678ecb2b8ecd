"""Leases due deliveries and records their outcomes, for all workspaces at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Integer,
    RowMapping,
    Select,
    Text,
    bindparam,
    cast,
    func,
    insert,
    literal,
    or_,
    select,
    true,
    union_all,
    update,
)

from persistence.database import Transaction
from persistence.deliveries.hiding import hide_in_text, hide_in_url
from persistence.deliveries.ledger import count_moved
from persistence.resthooks.subscribers import end_subscriptions
from persistence.sql.due_work import list_receivers
from persistence.tables.deliveries import DELIVERED, PENDING, delivery, delivery_attempt

ANSWER_LENGTH = 500


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A leased delivery. `attempt` counts from 1; `due_on` is the end of the lease, by which the lease is
    recognized."""

    id: int
    uuid: str
    workspace_id: int
    event: str
    channel_id: int | None
    subscriber_id: int | None
    contact_id: int | None
    receiver: str
    url: str
    content_type: str
    body: bytes
    attempt: int
    scheduled_on: datetime
    due_on: datetime


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The outcome of one attempt: a status or an error, and the new status of the delivery: DELIVERED, FAILED, or
    PENDING until `retry_at`. A receiver that is permanently gone ends its subscription. `delay_seconds` is the time
    from the planned to the actual start of the attempt. `signed` names the schemes of its signatures.
    """

    state: str
    retry_at: datetime | None
    status: int | None
    error: str | None
    answer: bytes
    duration_seconds: float
    ends_subscription: bool = False
    delay_seconds: float = 0.0
    signed: str | None = None
    answer_headers: Mapping[str, str] | None = None


_MOVE_ON = (
    update(delivery)
    .where(
        delivery.c.id == bindparam("moved_id"),
        # A normal parameter: the row is found by its id, and a literal could not be executed for many rows at once.
        delivery.c.status == PENDING,
        or_(
            bindparam("state", type_=delivery.c.status.type) == DELIVERED,
            delivery.c.due_on == bindparam("leased_until"),
        ),
    )
    .values(
        status=bindparam("state", type_=delivery.c.status.type),
        attempts=delivery.c.attempts + 1,
        last_status=bindparam("answered"),
        last_error=bindparam("error"),
        finished_on=bindparam("ended_on"),
        scheduled_on=func.coalesce(bindparam("retry_at", type_=delivery.c.due_on.type), delivery.c.scheduled_on),
        due_on=func.coalesce(bindparam("retry_at", type_=delivery.c.due_on.type), delivery.c.due_on),
    )
)


def list_due_receivers(tx: Transaction) -> list[tuple[int, str]]:
    """The workspaces and receivers with at least one due delivery, found by one index seek for each of them."""
    is_pending = delivery.c.status == literal(PENDING, literal_execute=True)
    return list_receivers(tx, delivery.c.workspace_id, delivery.c.receiver, is_pending, delivery.c.due_on <= tx.now)


def lease_deliveries(tx: Transaction, rooms: Mapping[tuple[int, str], int], lease: timedelta) -> list[DueDelivery]:
    """Leases due deliveries, oldest first, up to a number per workspace and receiver. Until the lease ends no other
    worker gets them.
    """
    wanted = [(workspace_id, receiver, room) for (workspace_id, receiver), room in rooms.items() if room > 0]
    if not wanted:
        return []
    found = tx.execute(_pick_each(wanted, tx.now)) if tx.sqlite else tx.execute(_PICK_AND_LOCK, _arrays(wanted, tx.now))
    due_on = tx.now + lease
    leased = [_from_row(row, due_on) for row in found.mappings()]
    if leased:
        theirs = delivery.c.workspace_id.in_(sorted({each.workspace_id for each in leased}))
        mine = delivery.c.id.in_([each.id for each in leased])
        tx.execute(update(delivery).where(theirs, mine).values(due_on=due_on))
    return sorted(leased, key=lambda each: (each.scheduled_on, each.id))


def record_attempt(tx: Transaction, leased: DueDelivery, outcome: AttemptOutcome) -> bool:
    """Records an attempt and updates its delivery; returns False if another worker has updated it meanwhile. A
    delivered event counts even after the lease has expired; any other outcome counts only within the lease.
    """
    tx.execute(insert(delivery_attempt).values(_attempt_row(tx, leased, outcome)))
    moved = tx.execute(_MOVE_ON, _move(tx, leased, outcome)).rowcount
    _count(tx, outcome.state, moved)
    _end_subscriptions(tx, [(leased, outcome)])
    return bool(moved)


def record_attempts(tx: Transaction, attempts: Sequence[tuple[DueDelivery, AttemptOutcome]]) -> None:
    """The same for many at once."""
    if attempts:
        tx.execute(insert(delivery_attempt), [_attempt_row(tx, leased, outcome) for leased, outcome in attempts])
        by_state: dict[str, list[dict[str, Any]]] = {}
        for leased, outcome in attempts:
            by_state.setdefault(outcome.state, []).append(_move(tx, leased, outcome))
        for state, moves in by_state.items():
            tx.execute(_MOVE_ON, moves)
            _count(tx, state, _count_finished(tx, state, [move["moved_id"] for move in moves]))
        _end_subscriptions(tx, attempts)


def _count_finished(tx: Transaction, state: str, ids: Collection[int]) -> int:
    """How many of these were finished just now; of a batch, PostgreSQL tells only what its last statement changed."""
    if state == PENDING:
        return 0
    by_us = (delivery.c.id.in_(ids), delivery.c.status == state, delivery.c.finished_on == tx.now)
    return int(tx.execute(select(func.count()).select_from(delivery).where(*by_us)).scalar_one())


def _count(tx: Transaction, state: str, moved: int) -> None:
    if state != PENDING:
        count_moved(tx, state, moved)


def _end_subscriptions(tx: Transaction, attempts: Sequence[tuple[DueDelivery, AttemptOutcome]]) -> None:
    gone: dict[int, set[int]] = {}
    for leased, outcome in attempts:
        if outcome.ends_subscription and leased.subscriber_id is not None:
            gone.setdefault(leased.workspace_id, set()).add(leased.subscriber_id)
    for workspace_id, subscriber_ids in gone.items():
        end_subscriptions(tx, workspace_id, subscriber_ids)


def _select_due(now: Any) -> Select[*tuple[Any, ...]]:
    is_pending = delivery.c.status == literal(PENDING, literal_execute=True)
    return select(*_LEASED).where(is_pending, delivery.c.due_on <= now).order_by(delivery.c.due_on, delivery.c.id)


def _pick_each(wanted: Sequence[tuple[int, str, int]], now: datetime) -> CompoundSelect[*tuple[Any, ...]]:
    """For SQLite, where nobody else writes meanwhile."""
    due = _select_due(now)
    picks = [
        due.where(delivery.c.workspace_id == workspace_id, delivery.c.receiver == receiver).limit(room).subquery()
        for workspace_id, receiver, room in wanted
    ]
    return union_all(*(select(pick) for pick in picks))


def _pick_and_lock() -> Select[*tuple[Any, ...]]:
    """For PostgreSQL: a seek in the index for each of the wanted receivers, whatever its statistics say. Its text is
    always the same.
    """
    names, types = ("workspace_id", "receiver", "room"), (BigInteger, Text, Integer)
    arrays: list[ColumnElement[Any]] = [cast(bindparam(name), ARRAY(of)) for name, of in zip(names, types, strict=True)]
    wanted = func.unnest(*arrays).table_valued(*names, name="wanted").render_derived()
    theirs = (delivery.c.workspace_id == wanted.c.workspace_id, delivery.c.receiver == wanted.c.receiver)
    due = _select_due(bindparam("now", type_=delivery.c.due_on.type)).where(*theirs).limit(wanted.c.room)
    locked = due.correlate(wanted).with_for_update(skip_locked=True).lateral("due")
    return select(locked).select_from(wanted.join(locked, true()))


_LEASED = [delivery.c[name] for name in DueDelivery.__slots__ if name not in ("attempt", "due_on")]
_LEASED.append(delivery.c.attempts)
_PICK_AND_LOCK = _pick_and_lock()


def _arrays(wanted: Sequence[tuple[int, str, int]], now: datetime) -> dict[str, Any]:
    workspace_ids, receivers, rooms = zip(*wanted, strict=True)
    return {"workspace_id": list(workspace_ids), "receiver": list(receivers), "room": list(rooms), "now": now}


def _from_row(row: RowMapping, due_on: datetime) -> DueDelivery:
    values = {**row, "body": row["body"].encode(), "attempt": row["attempts"] + 1, "due_on": due_on}
    del values["attempts"]
    return DueDelivery(**values)


def _attempt_row(tx: Transaction, leased: DueDelivery, outcome: AttemptOutcome) -> dict[str, Any]:
    answer = outcome.answer[:ANSWER_LENGTH].decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return {
        "workspace_id": leased.workspace_id,
        "delivery_id": leased.id,
        "number": leased.attempt,
        "scheduled_on": leased.scheduled_on,
        "finished_on": tx.now,
        "duration_ms": round(outcome.duration_seconds * 1000),
        "status": outcome.status,
        "error": outcome.error,
        "answer": hide_in_text(answer) or None,
        "started_on": leased.scheduled_on + timedelta(seconds=outcome.delay_seconds),
        "url": hide_in_url(leased.url),
        "signed": outcome.signed,
        "answer_headers": outcome.answer_headers or None,
    }


def _move(tx: Transaction, leased: DueDelivery, outcome: AttemptOutcome) -> dict[str, Any]:
    return {
        "moved_id": leased.id,
        "leased_until": leased.due_on,
        "state": outcome.state,
        "answered": outcome.status,
        "error": outcome.error,
        "ended_on": None if outcome.retry_at is not None else tx.now,
        "retry_at": outcome.retry_at,
    }
