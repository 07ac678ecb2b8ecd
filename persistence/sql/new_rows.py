"""Inserts one row by a statement that is built once for each table and set of columns."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import Column, Executable, Table, insert

from persistence.database import Transaction
from persistence.secrets.encrypted_columns import Sealed
from persistence.sql.columns import NumberedColumns
from persistence.sql.fixed_statements import Fixed, param


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
