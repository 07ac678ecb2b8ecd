"""Marks in long lists, so that a page in the depths is found from near by and not counted from the top.

A mark is a record and how many stand before it and with it. Marks are taken in one pass and kept for a while. What
happened since is made up for: records of the last minutes are counted each time, and so are those that came later
with an older time. Records that left make pages overlap, but never leave one out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, Engine, Select, func, select

from persistence.database import Transaction
from persistence.sql.pages import Order, Position, is_beyond

STEP = 1000
SETTLED_AFTER = timedelta(minutes=5)
"""By then every transaction that gave a record its time is over."""
REMEMBERED_FOR = timedelta(minutes=10)
REMEMBERED_LISTS = 100

ListKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Marks:
    """Every `STEP`th of the records up to `settled_until`, the newest first, as they were at `taken_on`."""

    taken_on: datetime
    settled_until: datetime
    newest_id: int
    count: int
    places: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class PageStart:
    """Where a page begins: `offset` records after a position, or after the top; and how long the list is, if known."""

    position: Position | None
    offset: int
    count: int | None = None


_known: WeakKeyDictionary[Engine, dict[ListKey, Marks]] = WeakKeyDictionary()
_lock = Lock()


def find_place(tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]], skipped: int) -> PageStart:
    """Where the record after the first `skipped` ones stands, in at most two statements beside those that take marks.

    The newest record comes first, by a time that never changes, and whatever fits the conditions always did.
    """
    marks = _recall(tx, order, conditions)
    new, late = _count_since(tx, order, conditions, marks)
    count = new + late + marks.count
    index = min((skipped - new - late) // STEP, len(marks.places)) - 1
    if index < 0:
        return PageStart(None, skipped, count)
    position = marks.places[index]
    before = new + (index + 1) * STEP
    if late:
        beyond = is_beyond(order, position)
        before += tx.execute(_count_late(order, [*conditions, ~beyond], marks)).scalar_one()
    return PageStart(position, skipped - before, count)


def _recall(tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]]) -> Marks:
    counting = select(func.count(order.id)).where(*conditions).compile(dialect=tx.connection.dialect)
    key = str(counting), repr(sorted(counting.params.items()))
    with _lock:
        lists = _known.setdefault(tx.connection.engine, {})
        marks = lists.get(key)
        if marks is not None:
            if abs(tx.now - marks.taken_on) < REMEMBERED_FOR:
                return marks
            # One takes new marks, all others use these until it is done.
            lists[key] = replace(marks, taken_on=tx.now)
    marks = _take(tx, order, conditions)
    with _lock:
        lists.pop(key, None)
        lists[key] = marks
        if len(lists) > REMEMBERED_LISTS:
            del lists[next(iter(lists))]
    return marks


def _take(tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]]) -> Marks:
    newest_id = tx.execute(select(func.coalesce(func.max(order.id), 0))).scalar_one()
    settled_until = tx.now - SETTLED_AFTER
    settled = [*conditions, order.column <= settled_until]
    rank = func.row_number().over(order_by=(order.column.desc(), order.id.desc()))
    ranked = select(order.column.label("key"), order.id.label("id"), rank.label("rank")).where(*settled).subquery()
    marked = select(ranked.c.key, ranked.c.id).where(ranked.c.rank % STEP == 0).order_by(ranked.c.rank)
    places = tuple(Position(key, record_id) for key, record_id in tx.execute(marked))
    rest = [*settled, is_beyond(order, places[-1])] if places else settled
    count = len(places) * STEP + tx.execute(select(func.count(order.id)).where(*rest)).scalar_one()
    return Marks(tx.now, settled_until, newest_id, count, places)


def _count_since(
    tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]], marks: Marks
) -> tuple[int, int]:
    """How many are newer than what was settled, and how many settled ones came after the marks."""
    new = select(func.count(order.id)).where(*conditions, order.column > marks.settled_until)
    late = _count_late(order, conditions, marks)
    new_count, late_count = tx.execute(select(new.scalar_subquery(), late.scalar_subquery())).one()
    return new_count, late_count


def _count_late(order: Order, conditions: Sequence[ColumnElement[bool]], marks: Marks) -> Select[int]:
    since = [order.id > marks.newest_id, order.column <= marks.settled_until]
    table: Any = order.id.table
    # SQLite would go through all settled records instead of the few new ids.
    return select(func.count(order.id)).where(*conditions, *since).with_hint(table, "NOT INDEXED", "sqlite")
