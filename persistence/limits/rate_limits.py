"""Limits per window of time (requests per workspace and scope, registrations of phones per IP address), and responses
stored under the client's Idempotency-Key.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Executable, Table, and_, delete, literal, select, tuple_, update

from persistence.database import Transaction, upsert
from persistence.errors import Clash
from persistence.statements import Statement, parameters_of, statement
from persistence.tables.channels import ADDRESS_LENGTH, registration_window
from persistence.tables.service import kept_answer, rate_window

KEPT_FOR = timedelta(hours=24)


class TooManyRegistrations(Exception):
    """An IP address has reached its limit of registrations; `retry_after_seconds` says when it may try again."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class Origin:
    """The IP address of a registration, and how many it may make per period."""

    address: str
    limit: int
    period: timedelta


def take_allowance(
    tx: Transaction, workspace_id: int, scope: str, *, limit: int, period: timedelta, wanted: int
) -> tuple[int, int, datetime]:
    """Take up to `wanted` requests of the current window. Returns how many were granted (0: none is left), how many are
    left for others, and when the window ends.
    """
    return take_window(tx, rate_window, {"workspace_id": workspace_id, "scope": scope}, limit, period, wanted)


def read_allowance(
    tx: Transaction, workspace_id: int, scope: str, *, limit: int, period: timedelta
) -> tuple[int, datetime]:
    """How many requests are left in the current window, and when it ends; it only reads."""
    rows = rate_window.c
    mine = (rows.workspace_id == workspace_id) & (rows.scope == scope)
    row = tx.execute(select(rows.began_on, rows.taken).where(mine)).first()
    began_on, taken = row or (tx.now, 0)
    return (limit - taken, began_on + period) if tx.now < began_on + period else (limit, tx.now + period)


def count_registration(tx: Transaction, origin: Origin) -> None:
    """Count one new phone of an IP address. Raises TooManyRegistrations beyond the limit, which is necessary because
    registering needs no token and creates a row.
    """
    address = {"address": origin.address[:ADDRESS_LENGTH]}
    granted, _, ends_on = take_window(tx, registration_window, address, origin.limit, origin.period, 1)
    if not granted:
        raise TooManyRegistrations(int((ends_on - tx.now).total_seconds()) + 1)


def forget_windows(tx: Transaction, before: datetime) -> None:
    """Delete the counts of registrations in windows that began before a time."""
    tx.execute(delete(registration_window).where(registration_window.c.began_on < before))


def take_window(
    tx: Transaction, window: Table, key: Mapping[str, int | str], limit: int, period: timedelta, wanted: int
) -> tuple[int, int, datetime]:
    """Takes from the row of a table of windows that has this key; see `take_allowance`."""
    begin, lock, take = _statements(window, tuple(key))
    begin.run(tx, tx.now, **key)
    ((began_on, taken),) = lock.rows(tx, **key)
    if tx.now >= began_on + period:
        began_on, taken = tx.now, 0
    granted = max(0, min(wanted, limit - taken))
    take.run(tx, began_on, taken + granted, **key)
    return granted, limit - taken - granted, began_on + period


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    status: int
    body: str | None


def claim_key(tx: Transaction, workspace_id: int, operation: str, key: str, request: bytes) -> KeptAnswer | None:
    """The first response under this key, or None if the key is new and now claimed. A concurrent repeat waits here
    until the first request commits (PostgreSQL: on the unique key, SQLite: on the write lock). Raises Clash if the key
    was used with another request.
    """
    request_hash = hashlib.sha256(request).hexdigest()
    rows = kept_answer.c
    mine = (rows.workspace_id == workspace_id) & (rows.operation == operation) & (rows.key == key)
    tx.execute(delete(kept_answer).where(mine, rows.created_on < tx.now - KEPT_FOR))
    values = {"workspace_id": workspace_id, "operation": operation, "key": key, "request_hash": request_hash}
    claim = tx.upsert(kept_answer).values(created_on=tx.now, **values).on_conflict_do_nothing()
    if tx.execute(claim).rowcount == 1:
        return None
    first_hash, status, body = tx.execute(select(rows.request_hash, rows.status, rows.body).where(mine)).one()
    if first_hash != request_hash:
        raise Clash("This Idempotency-Key was used with another request.")
    assert status is not None, "a key is claimed and answered in one transaction"
    return KeptAnswer(status, body)


def keep_answer(tx: Transaction, workspace_id: int, operation: str, key: str, status: int, body: str | None) -> None:
    """Store the response to the request that claimed the key."""
    rows = kept_answer.c
    mine = (rows.workspace_id == workspace_id) & (rows.operation == operation) & (rows.key == key)
    tx.execute(update(kept_answer).where(mine).values(status=status, body=body))


def trim_answers(tx: Transaction, limit: int) -> int:
    """Deletes responses that are older than KEPT_FOR; returns their number."""
    rows = kept_answer.c
    keys = (rows.workspace_id, rows.operation, rows.key)
    old = select(*keys).where(rows.created_on < tx.now - KEPT_FOR).order_by(rows.created_on).limit(limit)
    return tx.execute(delete(kept_answer).where(tuple_(*keys).in_(old))).rowcount


@cache
def _statements(window: Table, names: tuple[str, ...]) -> tuple[Statement[...], Statement[...], Statement[...]]:
    """The statements that begin a window if there is none, lock it and write it; most requests need them."""
    rows, key = window.c, parameters_of(window, names)
    mine = and_(*(rows[name] == value for name, value in key.items()))

    @statement
    def begin(now: datetime, *, is_sqlite: bool = False, **_key: Any) -> Executable:
        beginning = upsert(window, is_sqlite=is_sqlite).values(**key, began_on=now, taken=literal(0))
        return beginning.on_conflict_do_nothing()

    @statement
    def take(began_on: datetime, taken: int, **_key: Any) -> Executable:
        return update(window).where(mine).values(began_on=began_on, taken=taken)

    return begin, Statement(lambda: select(rows.began_on, rows.taken).where(mine).with_for_update()), take
