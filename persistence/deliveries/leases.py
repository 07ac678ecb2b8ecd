"""Leases due deliveries and records their outcomes, for all workspaces at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Select,
    and_,
    bindparam,
    func,
    insert,
    literal,
    or_,
    select,
    union_all,
    update,
)

from persistence.database import Transaction
from persistence.resthooks.subscribers import end_subscriptions
from persistence.sql.due_work import list_receivers
from persistence.tables.deliveries import DELIVERED, PENDING, DeliveryColumns, delivery, delivery_attempt

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
    from the planned to the actual start of the attempt.
    """

    state: str
    retry_at: datetime | None
    status: int | None
    error: str | None
    answer: bytes
    duration_seconds: float
    ends_subscription: bool = False
    delay_seconds: float = 0.0


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
    picks = [
        _pick(workspace_id, receiver, room, tx.now) for (workspace_id, receiver), room in rooms.items() if room > 0
    ]
    if not picks:
        return []
    mine = (
        select(delivery.c.id)
        .where(delivery.c.id.in_(union_all(*picks)), _is_due(delivery.c, tx.now))
        .with_for_update(skip_locked=True)
    )
    columns = [delivery.c[name] for name in DueDelivery.__slots__ if name != "attempt"]
    taken = tx.execute(
        update(delivery)
        .where(delivery.c.id.in_(mine.scalar_subquery()))
        .values(due_on=tx.now + lease)
        .returning(*columns, delivery.c.attempts)
    )
    leased = [_from_row(row) for row in taken.mappings()]
    return sorted(leased, key=lambda each: (each.scheduled_on, each.id))


def record_attempt(tx: Transaction, leased: DueDelivery, outcome: AttemptOutcome) -> bool:
    """Records an attempt and updates its delivery; returns False if another worker has updated it meanwhile. A
    delivered event counts even after the lease has expired; any other outcome counts only within the lease.
    """
    tx.execute(insert(delivery_attempt).values(_attempt_row(tx, leased, outcome)))
    has_moved = bool(tx.execute(_MOVE_ON, _move(tx, leased, outcome)).rowcount)
    _end_subscriptions(tx, [(leased, outcome)])
    return has_moved


def record_attempts(tx: Transaction, attempts: Sequence[tuple[DueDelivery, AttemptOutcome]]) -> None:
    """The same for many at once."""
    if attempts:
        tx.execute(insert(delivery_attempt), [_attempt_row(tx, leased, outcome) for leased, outcome in attempts])
        tx.execute(_MOVE_ON, [_move(tx, leased, outcome) for leased, outcome in attempts])
        _end_subscriptions(tx, attempts)


def _end_subscriptions(tx: Transaction, attempts: Sequence[tuple[DueDelivery, AttemptOutcome]]) -> None:
    gone: dict[int, set[int]] = {}
    for leased, outcome in attempts:
        if outcome.ends_subscription and leased.subscriber_id is not None:
            gone.setdefault(leased.workspace_id, set()).add(leased.subscriber_id)
    for workspace_id, subscriber_ids in gone.items():
        end_subscriptions(tx, workspace_id, subscriber_ids)


def _is_due(rows: DeliveryColumns, now: datetime) -> ColumnElement[bool]:
    return and_(rows.status == literal(PENDING, literal_execute=True), rows.due_on <= now)


def _pick(workspace_id: int, receiver: str, room: int, now: datetime) -> Select[int]:
    one = delivery.alias()
    theirs = (one.c.workspace_id == workspace_id) & (one.c.receiver == receiver)
    due = select(one.c.id).where(theirs, _is_due(one.c, now)).order_by(one.c.due_on, one.c.id)
    return select(due.limit(room).subquery().c.id)


def _from_row(row: RowMapping) -> DueDelivery:
    values = {**row, "body": row["body"].encode(), "attempt": row["attempts"] + 1}
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
        "answer": answer or None,
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
