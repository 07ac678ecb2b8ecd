"""Leases of records: a worker has one until a time that is in its row, and whoever holds it proves that by this time.

Work that is done in one transaction counts beforehand, in its row, that it begins: whatever ends the process that
does it, the next one knows how often that happened. After MOST_ATTEMPTS it is given up with a reason, and other work
goes on.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, ColumnElement, Table, or_, select, update

from persistence.database import Transaction

MOST_ATTEMPTS = 3
GIVEN_UP = (
    f"Given up after {MOST_ATTEMPTS} attempts: each time the process that did this was ended, or met an error of the "
    "service, before it got on. The logs of the workers say more."
)
PAUSES = (timedelta(seconds=5), timedelta(seconds=15), timedelta(seconds=60))
"""How long nobody else begins the same work after each attempt began: by then its row is locked, or it is over."""
GOT_ON: dict[str, Any] = {"attempts": 0, "leased_until": None}
"""What the work stores in its row, in its own transaction."""


def is_free(until: ColumnElement[Any], now: datetime | BindParameter[datetime]) -> ColumnElement[bool]:
    """Whether nobody has a record: its lease, whose end is in this column, was given back or is over."""
    return or_(until.is_(None), until <= now)


class Begun(NamedTuple):
    """A record whose work begins, and how often it was begun before without getting on."""

    id: int
    attempts: int


def begin_attempt(
    tx: Transaction,
    table: Table,
    due: ColumnElement[bool],
    order: Sequence[ColumnElement[Any]],
    give_up: Callable[[Transaction, int], None],
    *,
    count: str = "attempts",
    until: str = "leased_until",
) -> Begun | None:
    """The id of the next record with due work, and how often it was begun before without getting on. Work with too many
    attempts is given up, which ends it. Commit this before the work begins. `count` and `until` name the columns.
    """
    rows = table.c
    chosen = (
        select(rows.id, rows[count].label("attempts"))
        .where(due, is_free(rows[until], tx.now))
        .order_by(*order)
        .limit(1)
    )
    while (row := tx.execute(chosen.with_for_update(skip_locked=True, key_share=True)).first()) is not None:
        if row.attempts < MOST_ATTEMPTS:
            begun = {count: row.attempts + 1, until: tx.now + PAUSES[row.attempts]}
            tx.execute(update(table).where(rows.id == row.id).values(begun))
            return Begun(row.id, row.attempts)
        give_up(tx, row.id)
    return None
