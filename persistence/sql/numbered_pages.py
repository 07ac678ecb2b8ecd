"""Numbered paging, as v1 does it: pages of JSON records with the number of all records, in a few statements.

Long lists are not counted for every page: their counts are cached for a while. A deep page is found from a near mark
and not counted from the top. A mark is a record and its position. Marks are taken in one pass and cached for a while.
Later changes are corrected: records of the last minutes are counted each time, and so are those that were added later
with an older time. Deleted records make pages overlap, but no record is left out.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, Engine, Select, func, select

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.sql.pages import Order, Position, Selection, Window, is_beyond, read_window
from persistence.statements import shape_of

LONG_LIST = 2_500
"""Lists up to this long are counted each time, which is quick also with filters that no index serves together."""
COUNTS_KEPT_FOR = timedelta(seconds=60)
DEEP = 2500
"""Up to so many records are skipped one by one, which is quick."""
STEP = 1000
SETTLED_AFTER = timedelta(minutes=5)
"""After this long every transaction that gave a record its time has ended."""
MARKS_KEPT_FOR = timedelta(minutes=10)

ListKey = tuple[Hashable, str]
Known = TypeVar("Known")


class _Memory(Generic[Known]):
    """The cached data about lists of each database, for at most `most` lists."""

    def __init__(self, most: int) -> None:
        self.lock = RLock()
        self._most = most
        self._known: WeakKeyDictionary[Engine, dict[ListKey, Known]] = WeakKeyDictionary()

    def get(self, engine: Engine, key: ListKey) -> Known | None:
        with self.lock:
            return self._known.get(engine, {}).get(key)

    def put(self, engine: Engine, key: ListKey, known: Known | None) -> None:
        """Keep this, or nothing any more."""
        with self.lock:
            lists = self._known.setdefault(engine, {})
            lists.pop(key, None)
            if known is not None:
                lists[key] = known
            if len(lists) > self._most:
                del lists[next(iter(lists))]


@dataclass(frozen=True, slots=True)
class NumberedPage:
    """Records as JSON texts, and the length of the whole list (of a long list up to a minute old)."""

    records: list[str]
    count: int


@dataclass(frozen=True, slots=True)
class _Marks:
    """Every `STEP`th record up to `settled_until`, the newest first, as of `taken_on`."""

    taken_on: datetime
    settled_until: datetime
    newest_id: int
    count: int
    places: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class _PageStart:
    """Where a page begins: `offset` records after a position, or after the top; and the length of the list, if
    known."""

    position: Position | None
    offset: int
    count: int | None = None


_counts: _Memory[tuple[int, datetime]] = _Memory(most=1000)
_marks: _Memory[_Marks] = _Memory(most=100)


def fetch_numbered_page(
    tx: Transaction, chosen: Selection, number: int, size: int, *, keeps_places: bool = False
) -> NumberedPage:
    """Page `number` (from 1) of the records whose ids, `order.id`, fit the conditions.

    `keeps_places` says that matching records have matched since they were created, and that their time, by which the
    newest comes first, never changes; deep pages of such lists are read as fast as the first one. Raises RecordMissing
    (404) for a page beyond the end; the first page always exists.
    """
    order, conditions = chosen.order, chosen.conditions
    skipped = (number - 1) * size
    is_deep = keeps_places and skipped >= DEEP
    place = _find_place(tx, order, conditions, skipped) if is_deep else _PageStart(None, skipped)
    found = read_window(tx, chosen, order, Window(place.position, size, place.offset))
    records = found.write(found.rows)
    if number > 1 and not records:
        raise RecordMissing("This page does not exist.")
    if len(records) < size:
        return NumberedPage(records, skipped + len(records))
    if place.count is not None:
        return NumberedPage(records, max(place.count, skipped + size))
    return NumberedPage(records, _count_records(tx, order, conditions, at_least=number * size))


def _key(tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]]) -> ListKey:
    """The cache key of a list: its conditions, including the workspace, with their values."""
    shapes = [shape_of(each, tx.dialect) for each in conditions]
    values = [bind.effective_value for _, binds in shapes for bind in binds]
    return (str(order.id), *[shape for shape, _ in shapes]), repr(values)


def _count_records(tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]], *, at_least: int) -> int:
    """How many records there are, of a long list at most `COUNTS_KEPT_FOR` ago. A cached number is used only if it
    exceeds `at_least`; near its end a list is counted again.
    """
    engine, key = tx.connection.engine, _key(tx, order, conditions)
    count, moment = _counts.get(engine, key) or (0, tx.now)
    if count > at_least and abs(tx.now - moment) < COUNTS_KEPT_FOR:
        return count
    count = tx.execute(select(func.count(order.id)).where(*conditions)).scalar_one()
    _counts.put(engine, key, (count, tx.now) if count > LONG_LIST else None)
    return count


def _find_place(tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]], skipped: int) -> _PageStart:
    """The position of the record after the first `skipped` ones, in at most two statements besides those that take
    marks. The newest record comes first, by a time that never changes, and records that match the conditions have
    always matched.
    """
    marks = _recall(tx, order, conditions)
    new, late = _count_since(tx, order, conditions, marks)
    count = new + late + marks.count
    index = min((skipped - new - late) // STEP, len(marks.places)) - 1
    if index < 0:
        return _PageStart(None, skipped, count)
    position = marks.places[index]
    before = new + (index + 1) * STEP
    if late:
        beyond = is_beyond(order, position)
        before += tx.execute(_count_late(order, [*conditions, ~beyond], marks)).scalar_one()
    return _PageStart(position, skipped - before, count)


def _recall(tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]]) -> _Marks:
    engine, key = tx.connection.engine, _key(tx, order, conditions)
    with _marks.lock:
        marks = _marks.get(engine, key)
        if marks is not None:
            if abs(tx.now - marks.taken_on) < MARKS_KEPT_FOR:
                return marks
            # One thread takes new marks; all others use these until it is done.
            _marks.put(engine, key, replace(marks, taken_on=tx.now))
    marks = _take(tx, order, conditions)
    _marks.put(engine, key, marks)
    return marks


def _take(tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]]) -> _Marks:
    newest_id = tx.execute(select(func.coalesce(func.max(order.id), 0))).scalar_one()
    settled_until = tx.now - SETTLED_AFTER
    settled = [*conditions, order.column <= settled_until]
    rank = func.row_number().over(order_by=(order.column.desc(), order.id.desc()))
    ranked = select(order.column.label("key"), order.id.label("id"), rank.label("rank")).where(*settled).subquery()
    marked = select(ranked.c.key, ranked.c.id).where(ranked.c.rank % STEP == 0).order_by(ranked.c.rank)
    places = tuple(Position(key, record_id) for key, record_id in tx.execute(marked))
    rest = [*settled, is_beyond(order, places[-1])] if places else settled
    count = len(places) * STEP + tx.execute(select(func.count(order.id)).where(*rest)).scalar_one()
    return _Marks(tx.now, settled_until, newest_id, count, places)


def _count_since(
    tx: Transaction, order: Order, conditions: Sequence[ColumnElement[bool]], marks: _Marks
) -> tuple[int, int]:
    """How many records are newer than the settled ones, and how many settled ones were added after the marks."""
    new = select(func.count(order.id)).where(*conditions, order.column > marks.settled_until)
    late = _count_late(order, conditions, marks)
    new_count, late_count = tx.execute(select(new.scalar_subquery(), late.scalar_subquery())).one()
    return new_count, late_count


def _count_late(order: Order, conditions: Sequence[ColumnElement[bool]], marks: _Marks) -> Select[int]:
    since = [order.id > marks.newest_id, order.column <= marks.settled_until]
    table: Any = order.id.table
    # SQLite would read all settled records instead of the few new ids.
    return select(func.count(order.id)).where(*conditions, *since).with_hint(table, "NOT INDEXED", "sqlite")
