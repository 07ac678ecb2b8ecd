"""Keyset paging: pages of JSON records in a documented order, each found by one statement at any depth, and in one
snapshot where statements have to agree.
"""

import base64
import binascii
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property, partial
from typing import Any

import orjson
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Date,
    FromClause,
    Select,
    bindparam,
    literal_column,
    select,
    tuple_,
    type_coerce,
    union_all,
)
from sqlalchemy.types import Integer, NullType, TypeEngine

from persistence.database import Transaction
from persistence.sql.columns import TIME_LAYOUT, BigId, UtcDateTime, time_text
from persistence.sql.json_sql import as_text
from persistence.sql.record_forms import Form, form_of
from persistence.statements import execute_kept, fetch_rows

CURSOR_LENGTH = 1000
AFTER, AFTER_ID, SKIPPED = "after_value", "after_id", "skipped"

Rows = Sequence[Sequence[Any]]
"""They end with the id of a record."""
KEY = -2


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
    join table); `source` is the table, or join of tables, from which `record` is built, `source_id` its id column.
    `is_fixed` says that record, source and order are the same objects each time; then the statement is compiled once.
    `is_even` says that one plan is good for all values of the conditions. `finish` changes records that the database
    wrote, by what it reads in the same snapshot; Python writes them as they are to be. `at_once` says that conditions
    and order are of the source, and that records are to be read where they are chosen. Where more are looked at than
    shown, it is better to choose first: an index has their ids.
    """

    record: ColumnElement[Any]
    source: FromClause
    source_id: ColumnElement[int]
    order: Order
    conditions: Sequence[ColumnElement[bool]]
    is_fixed: bool = False
    is_even: bool = False
    finish: Callable[[list[str]], list[str]] | None = None
    at_once: bool = False


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
    """So many records after a position, or from the top, and `skipped` more."""

    position: Position | None
    size: int
    skipped: int = 0

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of a statement that reads them."""
        found = {} if self.position is None else self.position.values
        return {**found, SKIPPED: self.skipped} if self.skipped else found

    @property
    def shape(self) -> tuple[int, bool, bool]:
        """What is part of the text of such a statement."""
        return self.size, self.position is None, self.skipped > 0


@dataclass(frozen=True, slots=True)
class Page:
    """Records as JSON texts, and the positions of the pages around them (None: there is none)."""

    records: list[str]
    next: Position | None
    previous: Position | None


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
        position = Position(_sort_value(value, order.column.type), record_id, bool(backward), asked_on)
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
    """One page of records as JSON texts in one statement."""
    backward = position is not None and position.backward
    order = chosen.order.reversed if backward else chosen.order
    found = read_window(tx, chosen, order, Window(position, size + 1))
    more = len(found.rows) > size
    rows = found.rows[:size][::-1] if backward else found.rows[:size]
    kind, place = order.column.type, found.key_place
    first = Position(_read_key(kind, rows[0][place]), int(rows[0][-1]), True) if rows else None
    last = Position(_read_key(kind, rows[-1][place]), int(rows[-1][-1])) if rows else None
    has_next, has_previous = (True, more) if backward else (more, position is not None)
    return Page(found.write(rows), last if has_next else None, first if has_previous else None)


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of records, what makes records of them, and where a row has the sort value."""

    rows: Rows
    write: Callable[[Rows], list[str]]
    key_place: int = KEY


def read_window(tx: Transaction, chosen: Selection, order: Order, window: Window) -> Found:
    """Records in an order, in one statement."""
    values, shape, conditions = window.values, window.shape, chosen.conditions
    if not chosen.is_fixed:
        statement = _page_statement(chosen, order, window, sqlite=tx.sqlite)
        return Found(_finished(tx, chosen, lambda: tx.execute(statement, values).all()), _documents)
    parts = (chosen.record, chosen.source, order)
    # Of a number in a prepared statement PostgreSQL does not know how many records it skips.
    is_even = chosen.is_even and not window.skipped
    if not tx.sqlite:
        form = form_of(chosen.record, chosen.source_id)
        build_plain = partial(_plain_statement, form, chosen, order, window)
        rows = fetch_rows(tx, (*parts, form), shape, conditions, build_plain, values, is_even=is_even, as_texts=True)
        if rows is not None:
            place = form.place_of(order.column)
            return Found(rows, form.write, KEY if place is None else place)
    build = partial(_page_statement, chosen, order, window, sqlite=tx.sqlite)
    reading = partial(execute_kept, tx, parts, shape, conditions, build, values, is_even=is_even)
    return Found(_finished(tx, chosen, reading), _documents)


def is_beyond(order: Order, position: Position) -> ColumnElement[bool]:
    """Whether a record comes after a position."""
    here = tuple_(order.column, order.id)
    there = tuple_(*_placeholders(order, position))
    return here < there if order.descending else here > there


@contextmanager
def one_snapshot(tx: Transaction) -> Iterator[None]:
    """What the block reads is of one moment. A unit of work that only reads has this on SQLite anyway, and where it
    glances. One that writes on PostgreSQL is left as it is: what it shows are rows that it has locked.
    """
    if not tx.is_alone:
        yield
        return
    tx.connection.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        yield
    finally:
        if not tx.connection.invalidated:
            tx.connection.exec_driver_sql("COMMIT")


def _mark(order: Order, workspace_id: int) -> int:
    """Distinguishes cursors of other lists and workspaces, whose values may look the same."""
    return zlib.crc32(b"%d" % workspace_id, order.mark)


def _sort_value(value: Any, kind: TypeEngine[Any]) -> datetime | date | int | str:
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


def _finished(tx: Transaction, chosen: Selection, read: Callable[[], Rows]) -> Rows:
    if chosen.finish is None:
        return read()
    with one_snapshot(tx):
        rows = read()
        records = chosen.finish(_documents(rows))
    return [(record, *row[1:]) for record, row in zip(records, rows, strict=True)]


def _documents(rows: Rows) -> list[str]:
    return [row[0] for row in rows]


def _page_statement(chosen: Selection, order: Order, window: Window, *, sqlite: bool) -> Select[*tuple[Any, ...]]:
    picked = _pick_ids(order, chosen.conditions, window, sqlite=sqlite)
    found, document = picked.subquery("picked"), as_text(chosen.record).label("document")
    return _select([document, type_coerce(found.c.key, NullType())], found, chosen, order)


def _plain_statement(form: Form, chosen: Selection, order: Order, window: Window) -> Select[*tuple[Any, ...]]:
    if chosen.at_once and form.has_once and not window.skipped:
        return _whole_statement(form, chosen, order, window)
    ids = _pick_ids(order, chosen.conditions, window, sqlite=False)
    picked = ids.cte("picked") if form.has_once else ids.subquery("picked")
    columns = form.select_from(picked)
    if form.place_of(order.column) is None:
        columns.append(type_coerce(picked.c.key, NullType()))
    return _select(columns, picked, chosen, order)


def _whole_statement(form: Form, chosen: Selection, order: Order, window: Window) -> Select[*tuple[Any, ...]]:
    """Rows are read once, and the page has what belongs to all of them."""
    picked = _pick_ids(order, chosen.conditions, window, form.labeled, chosen.source, sqlite=False).cte("picked")
    columns = form.select_from(picked)
    if form.place_of(order.column) is None:
        columns.append(type_coerce(picked.c.key, NullType()))
    sorting = Order(picked.c.key, picked.c.id, order.descending).sorting
    return select(*columns, picked.c.id).order_by(*sorting)


def _select(
    columns: list[ColumnElement[Any]], picked: FromClause, chosen: Selection, order: Order
) -> Select[*tuple[Any, ...]]:
    key, tie = picked.c.key, picked.c.id
    return (
        select(*columns, tie)
        .select_from(picked.join(chosen.source, chosen.source_id == tie))
        .order_by(*Order(key, tie, order.descending).sorting)
    )


def _read_key(kind: TypeEngine[Any], value: Any) -> Any:
    """A sort value as the driver returned it, or as text, in the type of its column."""
    if isinstance(kind, UtcDateTime):
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    if isinstance(kind, Date):
        return date.fromisoformat(value) if isinstance(value, str) else value
    return int(value) if isinstance(kind, Integer) else value


def _pick_ids(
    order: Order,
    conditions: Sequence[ColumnElement[bool]],
    window: Window,
    values: Sequence[ColumnElement[Any]] = (),
    source: FromClause | None = None,
    *,
    sqlite: bool,
) -> Select[Any]:
    """Selects the `id` and `key` of records, in their order, and other values of a source."""
    base = select(order.id.label("id"), order.column.label("key"), *values).where(*conditions)
    if source is not None:
        base = base.select_from(source)
    sorting, position = order.sorting, window.position
    if position is None:
        return _cut(base.order_by(*sorting), window)
    if not sqlite:
        return _cut(base.where(is_beyond(order, position)).order_by(*sorting), window)
    return _pick_on_sqlite(base, order, position, window)


def _placeholders(order: Order, position: Position) -> tuple[BindParameter[Any], BindParameter[int]]:
    """The parameters with the values of a position: of `Position.values`."""
    return bindparam(AFTER, position.value, type_=order.column.type), bindparam(AFTER_ID, position.id, type_=BigId)


def _cut(ordered: Select[Any], window: Window) -> Select[Any]:
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
