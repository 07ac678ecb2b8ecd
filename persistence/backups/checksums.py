"""Whether two databases contain the same rows: counts and checksums that do not depend on the order of rows. Both are
read in a common form: times as the API writes them, Booleans as 0 and 1, and jsonb documents with sorted keys and plain
numbers.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson
from sqlalchemy import Boolean, Column, Connection, Float, Table, text
from sqlalchemy.engine import Dialect

from persistence.sql.columns import JsonIndexed, UtcDateTime, UuidText

ROWS_AT_ONCE = 5000
WIDTH = 16


@dataclass(slots=True)
class Checksum:
    """The number of rows, and the sum of their hashes (modulo 2**128)."""

    rows: int = 0
    total: int = 0

    def add(self, row: Sequence[object]) -> None:
        digest = hashlib.blake2b(orjson.dumps(row), digest_size=WIDTH).digest()
        self.rows += 1
        self.total = (self.total + int.from_bytes(digest, "big")) % (1 << 8 * WIDTH)


def checksum_of_sqlite(connection: Connection, table: Table) -> Checksum:
    columns = ", ".join(f'"{column.name}"' for column in table.c)
    rows = connection.exec_driver_sql(f'SELECT {columns} FROM "{table.name}"')
    return _sum(table, (row for part in rows.partitions(ROWS_AT_ONCE) for row in part))


def checksum_of_postgres(connection: Connection, table: Table) -> Checksum:
    columns = ", ".join(_plain(column, connection.dialect) for column in table.c)
    read = text(f'SELECT {columns} FROM "{table.name}"')
    return _sum(table, connection.execute(read.execution_options(stream_results=True, yield_per=ROWS_AT_ONCE)))


def _plain(column: Column[Any], dialect: Dialect) -> str:
    """An expression of PostgreSQL for the value that SQLite has in a column."""
    name, kind = f'"{column.name}"', column.type
    if isinstance(kind, UtcDateTime):
        return f"to_char({name} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24\\:MI\\:SS.US\"Z\"')"
    if isinstance(kind, Boolean):
        return f"CAST({name} AS integer)"
    if isinstance(kind, Float):
        return name
    if isinstance(kind, UuidText | JsonIndexed) or kind.dialect_impl(dialect).python_type is not int:
        return f"CAST({name} AS text)"
    return name


def _sum(table: Table, rows: Iterable[Sequence[object]]) -> Checksum:
    taken_apart = [_is_taken_apart(column) for column in table.c]
    floats = [isinstance(column.type, Float) for column in table.c]
    summed = Checksum()
    if not any(taken_apart) and not any(floats):
        for row in rows:
            summed.add(tuple(row))
        return summed
    for row in rows:
        summed.add(
            [
                _sorted(value) if apart else float(value) if is_float and value is not None else value  # type: ignore[arg-type]
                for value, apart, is_float in zip(row, taken_apart, floats, strict=True)
            ]
        )
    return summed


def _is_taken_apart(column: Column[Any]) -> bool:
    return isinstance(column.type, JsonIndexed)


def _sorted(document: object) -> object:
    """A document without what jsonb does not keep: the order of keys, and the form of numbers."""
    if not isinstance(document, str):
        return document
    read = json.loads(document, parse_float=_number, parse_int=_number)
    return json.dumps(read, sort_keys=True, ensure_ascii=False)


def _number(written: str) -> str:
    return format(Decimal(written).normalize(), "f")
