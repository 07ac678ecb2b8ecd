"""Leases due deliveries and records their outcomes, for all workspaces at once, within the rate limits of receivers.
Which ones is found here, because each receiver has a number of slots; `due_on` is both the end of a lease and when a
delivery is due again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Executable,
    Integer,
    Select,
    TableValuedAlias,
    Text,
    Update,
    case,
    cast,
    column,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.types import TypeEngine

from persistence.database import Transaction
from persistence.deliveries.outbox import count_moved
from persistence.deliveries.settings import charge_paces, lock_paces, next_look, read_paced
from persistence.leases import GIVEN_UP, Leases, list_receivers
from persistence.resthooks import end_subscriptions
from persistence.secrets.encryption import hide_in_text, hide_in_url
from persistence.sql.columns import UtcDateTime, new_uuid
from persistence.statements import insert_rows, param, statement, update
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING, delivery, delivery_attempt

ANSWER_LENGTH = 500

_IS_PENDING: ColumnElement[bool] = delivery.c.status == literal(PENDING, literal_execute=True)
LEASES = Leases(delivery, _IS_PENDING, until="due_on", count="begun", is_prepared=False)
_MOVED: dict[str, TypeEngine[Any]] = {
    "moved_id": BigInteger(),
    "leased_until": UtcDateTime(),
    "state": Text(),
    "answered": Integer(),
    "error": Text(),
    "retry_at": UtcDateTime(),
}
"""What moves a delivery on: the outcome of its attempt."""

_NOW = param("now", delivery.c.due_on.type)
_insert_attempts = insert_rows(
    delivery_attempt,
    (
        *("uuid", "workspace_id", "delivery_id", "number", "scheduled_on", "finished_on", "duration_ms", "status"),
        *("error", "answer", "started_on", "url", "signed", "answer_headers"),
    ),
)
"""Those that are not prepared look for rows that soon are others: a plan for a short queue would be slow for a long
one."""

Rooms = Mapping[tuple[int, str], int]


class DueDelivery(NamedTuple):
    """The columns of a delivery that is due, or leased: then `due_on` is the end of the lease, which proves it."""

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
    body: str
    attempts: int
    begun: int
    scheduled_on: datetime
    due_on: datetime

    @property
    def attempt(self) -> int:
        """Which one is made with this lease."""
        return self.attempts + 1


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


def list_due_receivers(tx: Transaction) -> list[tuple[int, str]]:
    """The workspaces and receivers with at least one due delivery, found by one index seek for each of them."""
    is_due = delivery.c.due_on <= tx.now
    return list_receivers(tx, delivery.c.workspace_id, delivery.c.receiver, _IS_PENDING, is_due, delivery.c.due_on)


def lease_deliveries(tx: Transaction, rooms: Mapping[tuple[int, str], int], lease: timedelta) -> list[DueDelivery]:
    """Leases due deliveries, oldest first, up to a number per workspace and receiver. Until the lease ends no other
    worker gets them.
    """
    wanted = [(workspace_id, receiver, room) for (workspace_id, receiver), room in rooms.items() if room > 0]
    if not wanted:
        return []
    found = [row for values in _pick(tx, wanted) for row in _pick_due.rows(tx, now=tx.now, **values)]
    picked = [DueDelivery._make(row) for row in found]
    due_on = tx.now + lease
    leased = [row._replace(due_on=due_on) for row in LEASES.without_suspects(tx, picked, _give_up, "workspace_id")]
    if leased:
        LEASES.take(tx, [each.id for each in leased], due_on, {each.workspace_id for each in leased})
    return sorted(leased, key=lambda each: (each.scheduled_on, each.id))


def record_attempt(tx: Transaction, leased: DueDelivery, outcome: AttemptOutcome) -> bool:
    """Records an attempt and updates its delivery; returns False if another worker has updated it meanwhile. A
    delivered event counts even after the lease has expired; any other outcome counts only within the lease.
    """
    return bool(record_attempts(tx, [(leased, outcome)]))


def note_ignored(tx: Transaction, leased: DueDelivery, reason: str) -> None:
    """Says of a recorded attempt why the reply in its response was ignored."""
    rows, tries = delivery.c, delivery_attempt.c
    mine = (rows.workspace_id == leased.workspace_id) & (rows.id == leased.id)
    tx.execute(update(delivery).where(mine).values(last_error=reason))
    its = (tries.workspace_id == leased.workspace_id) & (tries.delivery_id == leased.id)
    tx.execute(update(delivery_attempt).where(its, tries.number == leased.attempt).values(error=reason))


def record_attempts(tx: Transaction, attempts: Sequence[tuple[DueDelivery, AttemptOutcome]]) -> int:
    """The same for many at once; returns how many deliveries were updated."""
    if not attempts:
        return 0
    _insert_attempts.run(tx, [_attempt_row(tx, leased, outcome) for leased, outcome in attempts])
    # A receiver may accept what a worker sends after its lease and refuse the repeat: both outcomes may come together.
    taken = {leased.id for leased, outcome in attempts if outcome.state == DELIVERED}
    counting = [each for each in attempts if each[1].state == DELIVERED or each[0].id not in taken]
    moves = [_move(leased, outcome) for leased, outcome in counting]
    moved = _update_each(tx, moves) if tx.sqlite else _update_all(tx, moves)
    for state, count in Counter(moved).items():
        if state != PENDING:
            count_moved(tx, state, count)
    _end_subscriptions(tx, attempts)
    return len(moved)


_LEASED = [delivery.c[name] for name in DueDelivery._fields]


def _select_due(now: Any) -> Select[*tuple[Any, ...]]:
    return select(*_LEASED).where(_IS_PENDING, delivery.c.due_on <= now).order_by(delivery.c.due_on, delivery.c.id)


def _rows_of(name: str, columns: Mapping[str, TypeEngine[Any]]) -> TableValuedAlias:
    """Rows from one array parameter for each column, so that a statement's text does not depend on their number."""
    arrays: list[ColumnElement[Any]] = [cast(param(each, ARRAY(of)), ARRAY(of)) for each, of in columns.items()]
    typed = [column(each, of) for each, of in columns.items()]
    return func.unnest(*arrays).table_valued(*typed, name=name).render_derived()


@statement(is_prepared=False)
def _pick_due(*, is_sqlite: bool = False, **_wanted: Any) -> Executable:
    return _pick_on_sqlite() if is_sqlite else _pick_and_lock()


def _move_on(given: Mapping[str, ColumnElement[Any]], now: ColumnElement[Any]) -> Update:
    retry_at = given["retry_at"]
    return (
        update(delivery)
        .where(
            delivery.c.id == given["moved_id"],
            _IS_PENDING,
            or_(given["state"] == DELIVERED, delivery.c.due_on == given["leased_until"]),
        )
        .values(
            status=given["state"],
            attempts=delivery.c.attempts + 1,
            begun=0,
            last_status=given["answered"],
            last_error=given["error"],
            finished_on=case((retry_at.is_(None), now)),
            scheduled_on=func.coalesce(retry_at, delivery.c.scheduled_on),
            due_on=func.coalesce(retry_at, delivery.c.due_on),
        )
    )


@statement(is_prepared=False)
def _move_picked(*, is_sqlite: bool = False, **_moved: Any) -> Executable:
    return _move_each() if is_sqlite else _move_all()


def lease_within_paces(tx: Transaction, rooms: Rooms, lease: timedelta) -> tuple[list[DueDelivery], datetime | None]:
    """Leases due deliveries up to a number per workspace and receiver, fewer where a rate limit allows no more; also
    returns when to look again for the others.
    """
    paced = {place: endpoint for place in rooms if (endpoint := read_paced(*place)) is not None}
    paces = lock_paces(tx, sorted(set(paced.values()), key=lambda each: (each.workspace_id, each.kind, each.number)))
    allowed = {
        place: min(room, paces[paced[place]].allowance) if paced.get(place) in paces else room
        for place, room in rooms.items()
    }
    leased = lease_deliveries(tx, allowed, lease)
    if not paces:
        return leased, None
    places = ((each.workspace_id, each.receiver) for each in leased)
    charge_paces(tx, paces, Counter(paced[place] for place in places if place in paced))
    held_up = [next_look(paces[paced[place]], tx.now) for place, room in rooms.items() if allowed[place] < room]
    return leased, min(held_up, default=None)


def _move_each() -> Update:
    """For SQLite, one at a time."""
    return _move_on({name: param(name, of) for name, of in _MOVED.items()}, _NOW)


def _move_all() -> Update:
    """For PostgreSQL, all at once: planning a statement for each would take longer than its work."""
    rows = _rows_of("moved", _MOVED)
    return _move_on({name: rows.c[name] for name in _MOVED}, _NOW).returning(delivery.c.id, delivery.c.status)


def _give_up(tx: Transaction, rows: Sequence[DueDelivery]) -> None:
    failed = AttemptOutcome(FAILED, None, None, GIVEN_UP, b"", 0.0)
    record_attempts(tx, [(row, failed) for row in rows])


def _update_each(tx: Transaction, moves: Sequence[Mapping[str, Any]]) -> list[str]:
    """The new states of the deliveries that were updated."""
    done = [(move["state"], _move_picked.run(tx, now=tx.now, **move)) for move in moves]
    return [state for state, count in done if count]


def _update_all(tx: Transaction, moves: Sequence[Mapping[str, Any]]) -> list[str]:
    arrays: dict[str, Any] = {name: [move[name] for move in moves] for name in _MOVED}
    return [state for _, state in _move_picked.rows(tx, now=tx.now, **arrays)]


def _end_subscriptions(tx: Transaction, attempts: Sequence[tuple[DueDelivery, AttemptOutcome]]) -> None:
    gone: dict[int, set[int]] = {}
    for leased, outcome in attempts:
        if outcome.ends_subscription and leased.subscriber_id is not None:
            gone.setdefault(leased.workspace_id, set()).add(leased.subscriber_id)
    for workspace_id, subscriber_ids in gone.items():
        end_subscriptions(tx, workspace_id, subscriber_ids)


def _pick(tx: Transaction, wanted: Sequence[tuple[int, str, int]]) -> list[dict[str, Any]]:
    """The values of the statement that picks deliveries: on SQLite once for each receiver."""
    names = ("workspace_id", "receiver", "room")
    if tx.sqlite:
        return [dict(zip(names, each, strict=True)) for each in wanted]
    return [dict(zip(names, map(list, zip(*wanted, strict=True)), strict=True))]


def _pick_on_sqlite() -> Select[*tuple[Any, ...]]:
    """Those of one receiver; nobody else writes meanwhile."""
    theirs = (delivery.c.workspace_id == param("workspace_id"), delivery.c.receiver == param("receiver", Text))
    return _select_due(_NOW).where(*theirs).limit(param("room"))


def _pick_and_lock() -> Select[*tuple[Any, ...]]:
    """For PostgreSQL: a seek in the index for each of the wanted receivers, whatever its statistics say. Its text is
    always the same.
    """
    wanted = _rows_of("wanted", {"workspace_id": BigInteger(), "receiver": Text(), "room": Integer()})
    theirs = (delivery.c.workspace_id == wanted.c.workspace_id, delivery.c.receiver == wanted.c.receiver)
    due = _select_due(_NOW).where(*theirs).limit(wanted.c.room)
    locked = due.correlate(wanted).with_for_update(skip_locked=True).lateral("due")
    return select(locked).select_from(wanted.join(locked, true()))


def _attempt_row(tx: Transaction, leased: DueDelivery, outcome: AttemptOutcome) -> dict[str, Any]:
    answer = outcome.answer[:ANSWER_LENGTH].decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return {
        "uuid": new_uuid(),
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


def _move(leased: DueDelivery, outcome: AttemptOutcome) -> dict[str, Any]:
    return {
        "moved_id": leased.id,
        "leased_until": leased.due_on,
        "state": outcome.state,
        "answered": outcome.status,
        "error": outcome.error,
        "retry_at": outcome.retry_at,
    }
