"""Inserts rows by statements whose text never changes: one row by its columns, or any number as one parameter in
JSON."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cache
from typing import Any

import orjson
from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Executable,
    Select,
    Table,
    Text,
    TypeDecorator,
    cast,
    column,
    func,
    insert,
    literal_column,
    select,
)
from sqlalchemy.engine import Dialect

from persistence.database import Transaction, upsert
from persistence.secrets.encryption import Sealed
from persistence.sql.columns import NumberedColumns, time_text
from persistence.sql.fixed_statements import Fixed, param

ROWS = "rows"
"""The parameter with the rows: mappings with a value for each of the columns."""


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a row cannot have {value!r}")


class _Rows(TypeDecorator[Sequence[Mapping[str, Any]]]):
    """Rows as one JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[Mapping[str, Any]] | None, dialect: Dialect) -> str:
        return _rows_text_on_sqlite(value or ()) if dialect.name == "sqlite" else rows_text(value or ())


def rows_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as the one parameter that they are, on PostgreSQL."""
    return orjson.dumps(list(rows)).decode()


def inserting(
    table: Table,
    names: Sequence[str],
    returning: Sequence[Column[Any]] = (),
    *,
    unless_taken: Sequence[str] | None = None,
    changing: Sequence[str] = (),
    only_if: ColumnElement[bool] | None = None,
    as_text: Sequence[str] = (),
) -> Fixed:
    """The statement that inserts the rows in its parameter ROWS into these columns of a table, in their order, and
    returns columns of them. With `unless_taken`, rows are left out whose values of these columns another row has, or
    they give it new values of the columns `changing`, `only_if` it meets a condition. Values of the columns `as_text`
    are given as JSON texts (`json_text`): only so may they contain the character U+0000.
    """

    def build(is_sqlite: bool) -> Executable:
        listed = select_rows(table, names, as_text, is_sqlite=is_sqlite)
        if unless_taken is None:
            return insert(table).from_select(names, listed, include_defaults=False).returning(*returning)
        giving = upsert(table, is_sqlite=is_sqlite).from_select(names, listed, include_defaults=False)
        if changing:
            news = {name: giving.excluded[name] for name in changing}
            return giving.on_conflict_do_update(index_elements=unless_taken, set_=news, where=only_if).returning(
                *returning
            )
        return giving.on_conflict_do_nothing(index_elements=unless_taken or None).returning(*returning)

    return Fixed(build)


def select_rows(table: Table, names: Sequence[str], as_text: Sequence[str] = (), *, is_sqlite: bool) -> Select[Any]:
    """The rows in the parameter ROWS, each with a value for each of these columns of a table."""
    return _read_on_sqlite(table, names) if is_sqlite else _read_on_postgresql(table, names, as_text)


def json_text(value: object) -> str:
    """A document for one of the columns `as_text`."""
    return orjson.dumps(value).decode()


def insert_row(tx: Transaction, table: Table[NumberedColumns], values: Mapping[str, Any]) -> int:
    """Inserts a row; returns its id. The audit log is told."""
    if _is_sealed(table):  # what is sealed depends on the engine
        number: int = tx.execute(insert(table).returning(table.c.id), values).scalar_one()
        return number
    row = complete_row(table, values)
    ((number,),) = _inserting(table, tuple(sorted(row))).rows(tx, row)
    tell_created(tx, table, row)
    return number


def complete_row(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a new row, with those that the table declares for columns that are not given."""
    return {**_defaults_of(table, values), **values}


def tell_created(tx: Transaction, table: Table, row: Mapping[str, Any]) -> None:
    """Tells the audit log of a row that a fixed statement has inserted."""
    if tx.witness is not None:
        tx.witness.note_created(tx, table, row)


def _rows_text_on_sqlite(rows: Sequence[Mapping[str, Any]]) -> str:
    """With times as all columns have them there."""
    known: dict[int, str] = {}  # most times are that of the unit of work, the same object again and again

    def write(value: object) -> str:
        found = known.get(id(value))
        return found or known.setdefault(id(value), _as_text(value))

    return orjson.dumps(list(rows), default=write, option=orjson.OPT_PASSTHROUGH_DATETIME).decode()


def _read_on_postgresql(table: Table, names: Sequence[str], as_text: Sequence[str]) -> Select[Any]:
    listed = func.json_to_recordset(cast(param(ROWS, _Rows()), JSON))
    kinds = {name: Text() if name in as_text else table.c[name].type for name in names}
    rows = listed.table_valued(*(column(name, kind) for name, kind in kinds.items())).render_derived(with_types=True)
    return select(*(cast(rows.c[name], JSON) if name in as_text else rows.c[name] for name in names))


def _read_on_sqlite(table: Table, names: Sequence[str]) -> Select[Any]:
    rows = func.json_each(param(ROWS, _Rows())).table_valued("value")
    chosen = (func.json_extract(rows.c.value, literal_column(f"'$.{name}'")).label(name) for name in names)
    # Without a condition SQLite would take ON CONFLICT for a part of the join.
    return select(*chosen).where(rows.c.value.is_not(None))


@cache
def _is_sealed(table: Table) -> bool:
    return any(isinstance(each.type, Sealed) for each in table.c)


@cache
def _defaulting(table: Table) -> tuple[Column[Any], ...]:
    return tuple(each for each in table.c if each.default is not None)


def _defaults_of(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in _defaulting(table):
        if each.key not in values:
            default: Any = each.default
            found[each.key] = default.arg(None) if default.is_callable else default.arg
    return found


@cache
def _inserting(table: Table[NumberedColumns], names: tuple[str, ...]) -> Fixed:
    def build(_is_sqlite: bool) -> Executable:
        given = {name: param(name, table.c[name].type) for name in names}
        return insert(table).values(given).returning(table.c.id)

    return Fixed(build, is_told=True)
