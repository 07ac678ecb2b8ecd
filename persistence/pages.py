"""Pages of lists: keyset paging, each page found by one statement at any depth, and numbered paging, as v1 does it,
with the number of all records, in a few statements.

Long lists are not counted for every page: their counts are cached for a while. A deep numbered page is found from a
near mark and not counted from the top. A mark is a record and its position. Marks are taken in one pass and cached for
a while. Later changes are corrected: records of the last minutes are counted each time, and so are those that were
added later with an older time. Deleted records make pages overlap, but no record is left out.
"""

import base64
import binascii
import zlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import orjson
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Date,
    Engine,
    FromClause,
    Select,
    bindparam,
    func,
    literal_column,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.types import Integer, TypeEngine

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.records import Record, Shown, Template, readable, select_records, write_record, write_time
from persistence.sql.columns import TIME_LAYOUT, BigId, UtcDateTime, time_text
from persistence.statements import execute_kept, shape_of

CURSOR_LENGTH = 1000
AFTER, AFTER_ID, SKIPPED = "after_value", "after_id", "skipped"

LONG_LIST = 2_500
"""Lists up to this long are counted each time, which is quick also with filters that no index serves together."""
COUNTS_KEPT_FOR = timedelta(seconds=60)
DEEP = 2500
"""Up to so many records are skipped one by one, which is quick."""
STEP = 1000
SETTLED_AFTER = timedelta(minutes=5)
"""After this long every transaction that gave a record its time has ended."""
MARKS_KEPT_FOR = timedelta(minutes=10)

Rows = Sequence[Sequence[Any]]
"""They end with the sort value and the id of a record."""
KEY, ID, CLOCK = -2, -1, -3
ListKey = tuple[Hashable, str]
Known = TypeVar("Known")


class InvalidCursor(Exception):
    """A cursor that this list did not issue."""


@dataclass(frozen=True)
class Order:
    """The documented order of a list: a column that is never null, then the record's id to break ties."""

    column: ColumnElement[Any]
    id: ColumnElement[Any]
    descending: bool = True

    @cached_property
    def reversed(self) -> "Order":
        return Order(self.column, self.id, not self.descending)

    @cached_property
    def sorting(self) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
        """The ORDER BY columns of a statement."""
        if self.descending:
            return self.column.desc(), self.id.desc()
        return self.column.asc(), self.id.asc()

    @cached_property
    def mark(self) -> int:
        """Distinguishes cursors of lists with different orders, whose values may look the same."""
        return zlib.crc32(str(self.column).encode())


@dataclass(frozen=True, slots=True)
class Selection:
    """Records of a list. `conditions` and `order` choose ids (they may use another table than `source`, for example a
    join table); `source` is the table, or join of tables, that has the columns of `record`, `source_id` its id column.
    Record, source and order are declared once; `asking` are values of the parameters in them. `is_even` says that one
    plan is good for all values of the conditions. `clock` is a time that is read with a page, in its snapshot.
    """

    record: Record
    source: FromClause
    source_id: ColumnElement[int]
    order: Order
    conditions: Sequence[ColumnElement[bool]]
    asking: dict[str, Any] = field(default_factory=dict)
    is_even: bool = False
    clock: ColumnElement[Any] | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """A position between two records: the sort value and id of the neighboring record, and the direction of reading.
    `asked_on` is the time that the first page told, with which to ask for what changes next."""

    value: datetime | date | int | str
    id: int
    backward: bool = False
    asked_on: str | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of a statement that reads what comes after it."""
        return {AFTER: self.value, AFTER_ID: self.id}


@dataclass(frozen=True, slots=True)
class Window:
    """So many records after a position, or from the top, and `skipped` more; all of them without a size."""

    position: Position | None = None
    size: int | None = None
    skipped: int = 0

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of a statement that reads them."""
        found = {} if self.position is None else self.position.values
        return {**found, SKIPPED: self.skipped} if self.skipped else found

    @property
    def shape(self) -> tuple[int | None, bool, bool]:
        """What is part of the text of such a statement."""
        return self.size, self.position is None, self.skipped > 0


@dataclass(frozen=True)
class Page:
    """Records, and the positions of the pages around them (None: there is none). Numbered pages have the length of the
    whole list (of a long one up to a minute old). `clock` is the time that was read with a page that has records.
    """

    shown: list[Shown]
    next: Position | None = None
    previous: Position | None = None
    count: int = 0
    clock: str | None = None

    @cached_property
    def records(self) -> list[str]:
        """The records as JSON texts."""
        return [write_record(each) for each in self.shown]


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


class AmongFew(
    Template,
    sqlite="{0} IN (SELECT value FROM json_each({1}))",
    postgresql="{0} IN (SELECT value::bigint FROM json_array_elements_text({1}::json))",
    kind=Integer(),  # as a truth value it would be compared with 1, and no id be looked up
):
    """The records whose ids a JSON list names. SQLite would read all records in the order of the list, to find these
    among them.
    """


_counts: _Memory[tuple[int, datetime]] = _Memory(most=1000)
_marks: _Memory[_Marks] = _Memory(most=100)


def encode_cursor(position: Position, order: Order, workspace_id: int) -> str:
    """The opaque text of a position in lists of this order in a workspace; it contains no secret and gives access to
    nothing."""
    value = position.value
    if isinstance(value, datetime):
        value = time_text(value)
    elif isinstance(value, date):
        value = value.isoformat()
    content = [value, position.id, int(position.backward), _mark(order, workspace_id)]
    packed = orjson.dumps([*content, *filter(None, [position.asked_on])])
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode_cursor(text: str, order: Order, workspace_id: int) -> Position:
    """The position of a cursor; raises InvalidCursor for a text that `encode_cursor` did not create for this order and
    workspace."""
    if len(text) > CURSOR_LENGTH:
        raise InvalidCursor
    try:
        content = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        value, record_id, backward, mark, asked_on = content if len(content) == 5 else (*content, None)
        position = Position(_read_value(value, order.column.type), record_id, bool(backward), asked_on)
        if asked_on is not None:
            datetime.strptime(asked_on, TIME_LAYOUT)
    except (ValueError, TypeError, binascii.Error) as error:
        raise InvalidCursor from error
    if (
        type(record_id) is not int
        or not 0 <= record_id < 2**63
        or backward not in (0, 1)
        or mark != _mark(order, workspace_id)
    ):
        raise InvalidCursor
    return position


def fetch_page(tx: Transaction, chosen: Selection, position: Position | None, size: int) -> Page:
    """One page of records, in one statement."""
    backward = position is not None and position.backward
    order = chosen.order.reversed if backward else chosen.order
    found = read_window(tx, chosen, order, Window(position, size + 1))
    more = len(found) > size
    rows = found[:size][::-1] if backward else found[:size]
    first, last = (
        Position(_sort_value(rows[at][KEY], order), rows[at][ID], at == 0) if rows else None for at in (0, -1)
    )
    has_next, has_previous = (True, more) if backward else (more, position is not None)
    clock = None if chosen.clock is None else next((row[CLOCK] for row in found if row[CLOCK] is not None), None)
    shown = chosen.record.read(rows)
    return Page(
        shown,
        last if has_next else None,
        first if has_previous else None,
        clock=None if clock is None else write_time(clock),
    )


def fetch_numbered_page(
    tx: Transaction, chosen: Selection, number: int, size: int, *, keeps_places: bool = False
) -> Page:
    """Page `number` (from 1) of the records whose ids, `order.id`, fit the conditions.

    `keeps_places` says that matching records have matched since they were created, and that their time, by which the
    newest comes first, never changes; deep pages of such lists are read as fast as the first one. Raises RecordMissing
    (404) for a page beyond the end; the first page always exists.
    """
    order, conditions = chosen.order, chosen.conditions
    skipped = (number - 1) * size
    is_deep = keeps_places and skipped >= DEEP
    place = _find_place(tx, order, conditions, skipped) if is_deep else _PageStart(None, skipped)
    rows = read_window(tx, chosen, order, Window(place.position, size, place.offset))
    records = chosen.record.read(rows)
    if number > 1 and not records:
        raise RecordMissing("This page does not exist.")
    if len(records) < size:
        return Page(records, count=skipped + len(records))
    if place.count is not None:
        return Page(records, count=max(place.count, skipped + size))
    return Page(records, count=_count_records(tx, order, conditions, at_least=number * size))


def read_window(tx: Transaction, chosen: Selection, order: Order, window: Window) -> Rows:
    """Records in an order, in one statement."""
    build = partial(_select_window, chosen, order, window, is_sqlite=tx.sqlite)
    parts, values = (chosen.record, chosen.source, order, chosen.clock), {**chosen.asking, **window.values}
    # Of a number in a prepared statement PostgreSQL does not know how many records it skips.
    is_even = chosen.is_even and not window.skipped
    return execute_kept(tx, parts, window.shape, chosen.conditions, build, values, is_even=is_even)


def read_all(tx: Transaction, chosen: Selection, *, most: int | None = None) -> list[str]:
    """All records of a selection, or so many, as JSON texts."""
    rows = read_window(tx, chosen, chosen.order, Window(size=most))
    return [write_record(each) for each in chosen.record.read(rows)]


def is_beyond(order: Order, position: Position) -> ColumnElement[bool]:
    """Whether a record comes after a position."""
    here = tuple_(order.column, order.id)
    there = tuple_(*_placeholders(order, position))
    return here < there if order.descending else here > there


def _mark(order: Order, workspace_id: int) -> int:
    """Distinguishes cursors of other lists and workspaces, whose values may look the same."""
    return zlib.crc32(b"%d" % workspace_id, order.mark)


def _read_value(value: Any, kind: TypeEngine[Any]) -> datetime | date | int | str:
    """A value in a cursor, in the type of the column that sorts."""
    if isinstance(kind, UtcDateTime):
        return datetime.strptime(value, TIME_LAYOUT).replace(tzinfo=UTC)
    if isinstance(kind, Date):
        return date.fromisoformat(value)
    expected = int if isinstance(kind, Integer) else str
    if type(value) is not expected or (isinstance(value, str) and "\x00" in value):
        raise ValueError(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(value)
    return value


def _select_window(chosen: Selection, order: Order, window: Window, *, is_sqlite: bool) -> Select[*tuple[Any, ...]]:
    picked = _pick_ids(order, chosen.conditions, window, is_sqlite=is_sqlite).cte("picked")
    is_one = window.size == 1
    told = None if chosen.clock is None else readable(chosen.clock)
    found = select_records(
        chosen.record, chosen.source, chosen.source_id, picked, is_sqlite=is_sqlite, is_one=is_one, told=told
    )
    key, tie = picked.c.key, picked.c.id
    return found.add_columns(readable(key), tie).order_by(*Order(key, tie, order.descending).sorting)


def _sort_value(value: Any, order: Order) -> Any:
    """A sort value as the database wrote it, in the type of its column."""
    kind = order.column.type
    if isinstance(kind, UtcDateTime):
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return date.fromisoformat(value) if isinstance(kind, Date) and isinstance(value, str) else value


def _pick_ids(
    order: Order, conditions: Sequence[ColumnElement[bool]], window: Window, *, is_sqlite: bool
) -> Select[int, Any]:
    """Selects the `id` and `key` of records, in their order."""
    base = select(order.id.label("id"), order.column.label("key")).where(*conditions)
    if any(isinstance(each, AmongFew) for each in conditions):
        table: Any = order.id.table
        base = base.with_hint(table, "NOT INDEXED", "sqlite")
    sorting, position = order.sorting, window.position
    if position is None:
        return _cut(base.order_by(*sorting), window)
    if not is_sqlite:
        return _cut(base.where(is_beyond(order, position)).order_by(*sorting), window)
    return _pick_on_sqlite(base, order, position, window)


def _placeholders(order: Order, position: Position) -> tuple[BindParameter[Any], BindParameter[int]]:
    """The parameters with the values of a position: of `Position.values`."""
    return bindparam(AFTER, position.value, type_=order.column.type), bindparam(AFTER_ID, position.id, type_=BigId)


def _cut(ordered: Select[Any], window: Window) -> Select[Any]:
    if window.size is None:
        return ordered
    # Part of the text: with a parameter PostgreSQL expects many rows, and plans a prepared statement each time anew.
    cut = ordered.limit(literal_column(str(window.size), Integer))
    return cut.offset(_skipped(window)) if window.skipped else cut


def _skipped(window: Window) -> BindParameter[int]:
    return bindparam(SKIPPED, window.skipped, type_=Integer)


def _pick_on_sqlite(base: Select[Any], order: Order, position: Position, window: Window) -> Select[Any]:
    # SQLite seeks only on the first column of a row value, so a long series of equal sort values would be scanned.
    sorting = order.sorting
    value, record_id = _placeholders(order, position)
    after_id = order.id < record_id if order.descending else order.id > record_id
    after_value = order.column < value if order.descending else order.column > value
    size: ColumnElement[int] = literal_column(str(window.size), Integer)
    most = size + _skipped(window) if window.skipped else size
    tied = base.where(order.column == value, after_id).order_by(sorting[1]).limit(most).subquery()
    later = base.where(after_value).order_by(*sorting).limit(most).subquery()
    both = union_all(select(tied.c.id, tied.c.key), select(later.c.id, later.c.key)).subquery()
    outer = Order(both.c.key, both.c.id, order.descending)
    return _cut(select(both.c.id, both.c.key).order_by(*outer.sorting), window)


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
