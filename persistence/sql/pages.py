"""Keyset paging: pages of JSON records in a documented order, each found by one statement at any depth."""

import base64
import binascii
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Date, FromClause, Select, Subquery, bindparam, select, tuple_, union_all
from sqlalchemy.types import Integer, TypeEngine

from persistence.database import Transaction
from persistence.sql.columns import TIME_LAYOUT, UtcDateTime, time_text
from persistence.sql.json_sql import as_text

CURSOR_LENGTH = 1000


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
    """

    record: ColumnElement[Any]
    source: FromClause
    source_id: ColumnElement[int]
    order: Order
    conditions: Sequence[ColumnElement[bool]]


@dataclass(frozen=True, slots=True)
class Position:
    """A position between two records: the sort value and id of the neighboring record, and the direction of reading."""

    value: datetime | date | int | str
    id: int
    backward: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Records as JSON texts, and the positions of the pages around them (None: there is none)."""

    records: list[str]
    next: Position | None
    previous: Position | None


def encode_cursor(position: Position, order: Order) -> str:
    """The opaque text of a position in lists of this order; it contains no secret and gives access to nothing."""
    value = position.value
    if isinstance(value, datetime):
        value = time_text(value)
    elif isinstance(value, date):
        value = value.isoformat()
    packed = orjson.dumps([value, position.id, int(position.backward), order.mark])
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode_cursor(text: str, order: Order) -> Position:
    """The position of a cursor; raises InvalidCursor for a text that `encode_cursor` did not create for this order."""
    if len(text) > CURSOR_LENGTH:
        raise InvalidCursor
    try:
        value, record_id, backward, mark = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        position = Position(_sort_value(value, order.column.type), record_id, bool(backward))
    except (ValueError, TypeError, binascii.Error) as error:
        raise InvalidCursor from error
    if type(record_id) is not int or not 0 <= record_id < 2**63 or backward not in (0, 1) or mark != order.mark:
        raise InvalidCursor
    return position


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


def fetch_page(tx: Transaction, chosen: Selection, position: Position | None, size: int) -> Page:
    """One page of records as JSON texts in one statement."""
    backward = position is not None and position.backward
    reading = chosen.order.reversed if backward else chosen.order
    picked = pick_ids(reading, chosen.conditions, position, size + 1, sqlite=tx.sqlite)
    key, tie = picked.c.key, picked.c.id
    statement = (
        select(as_text(chosen.record).label("document"), key, tie)
        .select_from(picked.join(chosen.source, chosen.source_id == tie))
        .order_by(*Order(key, tie, reading.descending).sorting)
    )
    rows = tx.execute(statement).all()
    more = len(rows) > size
    rows = rows[:size][::-1] if backward else rows[:size]
    first = Position(rows[0].key, rows[0].id, True) if rows else None
    last = Position(rows[-1].key, rows[-1].id) if rows else None
    has_next, has_previous = (True, more) if backward else (more, position is not None)
    return Page([row.document for row in rows], last if has_next else None, first if has_previous else None)


def pick_ids(
    order: Order,
    conditions: Sequence[ColumnElement[bool]],
    position: Position | None,
    limit: int,
    *,
    sqlite: bool,
    offset: int = 0,
) -> Subquery:
    """The `id` and `key` of `limit` records after a position and `offset` more, in their order."""
    base = select(order.id.label("id"), order.column.label("key")).where(*conditions)
    sorting = order.sorting
    if position is None:
        return _cut(base.order_by(*sorting), limit, offset)
    if not sqlite:
        return _cut(base.where(is_beyond(order, position)).order_by(*sorting), limit, offset)
    return _pick_on_sqlite(base, order, position, limit, offset)


def is_beyond(order: Order, position: Position) -> ColumnElement[bool]:
    """Whether a record comes after a position."""
    here = tuple_(order.column, order.id)
    there = tuple_(bindparam(None, position.value, type_=order.column.type), position.id)
    return here < there if order.descending else here > there


def _cut(ordered: Select[Any], limit: int, offset: int) -> Subquery:
    return (ordered.limit(limit).offset(offset) if offset else ordered.limit(limit)).subquery("picked")


def _pick_on_sqlite(base: Select[Any], order: Order, position: Position, limit: int, offset: int) -> Subquery:
    # SQLite seeks only on the first column of a row value, so a long series of equal sort values would be scanned.
    sorting = order.sorting
    after_id = order.id < position.id if order.descending else order.id > position.id
    after_value = order.column < position.value if order.descending else order.column > position.value
    most = limit + offset
    tied = base.where(order.column == position.value, after_id).order_by(sorting[1]).limit(most).subquery()
    later = base.where(after_value).order_by(*sorting).limit(most).subquery()
    both = union_all(select(tied.c.id, tied.c.key), select(later.c.id, later.c.key)).subquery()
    outer = Order(both.c.key, both.c.id, order.descending)
    return _cut(select(both.c.id, both.c.key).order_by(*outer.sorting), limit, offset)
