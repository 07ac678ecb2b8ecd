"""Inserts records of a workspace. What a create request answers comes from the INSERT itself: to read the record
afterwards would take another statement, and a message to PostgreSQL with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Column, ColumnElement, Executable, Table, insert

from persistence.database import Transaction
from persistence.lists import ListQuery, ListSpec
from persistence.secrets.encryption import Sealed
from persistence.sql.columns import NumberedColumns
from persistence.sql.json_sql import as_text, is_declared
from persistence.stamps import Changes, clock_time, stamped
from persistence.statements import Statement, parameters_of


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record that has been checked and is not inserted yet: its row. If it `is_stamped`, whoever inserts it gives it
    a `modified_on` by the workspace's clock.
    """

    table: Table[NumberedColumns]
    values: Mapping[str, Any]
    is_stamped: bool = False


def insert_new(tx: Transaction, new: NewRecord) -> int:
    """Inserts a record; returns its id."""
    if not new.is_stamped:
        return insert_row(tx, new.table, new.values)
    moment = stamped(tx, new.table, new.values["workspace_id"])
    return insert_row(tx, new.table, {**new.values, "modified_on": moment})


def insert_shown(query: ListQuery, spec: ListSpec, new: NewRecord) -> str:
    """Inserts a record; returns it as a list shows it whose records are made of their own rows alone."""
    tx, record = query.tx, spec.record_of(query)
    assert spec.source_of(query) is new.table, "the INSERT can return only what its own row has"
    assert is_declared(record), "the statement is kept, so the record has to be the same each time"
    row = _complete(new.table, new.values)
    if new.is_stamped:
        # The answer shows the final time, so the clock is held before the row is there.
        tx.before_commit(Changes).hold_clock(row["workspace_id"])
        tx.flush()
    statement = _inserting(new.table, tuple(sorted(row)), record, is_stamped=new.is_stamped)
    ((document,),) = statement.rows(tx, **row)
    _tell_created(tx, new.table, row)
    (shown,) = spec.shown(query, [document])
    return shown


def insert_row(tx: Transaction, table: Table[NumberedColumns], values: Mapping[str, Any]) -> int:
    """Inserts a row; returns its id. The audit log is told."""
    if _is_sealed(table):  # what is sealed depends on the engine
        number: int = tx.execute(insert(table).returning(table.c.id), values).scalar_one()
        return number
    row = _complete(table, values)
    ((number,),) = _inserting(table, tuple(sorted(row)), None).rows(tx, **row)
    _tell_created(tx, table, row)
    return number


def _complete(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a new row, with those that the table declares for columns that are not given."""
    found = dict(values)
    for each in _defaulting(table):
        if each.key not in values:
            default: Any = each.default
            found[each.key] = default.arg(None) if default.is_callable else default.arg
    return found


def _tell_created(tx: Transaction, table: Table, row: Mapping[str, Any]) -> None:
    """Tells the audit log of a row that a statement has inserted."""
    if tx.witness is not None:
        tx.witness.note_created(tx, table, row)


@cache
def _inserting(
    table: Table, names: tuple[str, ...], record: ColumnElement[Any] | None, *, is_stamped: bool = False
) -> Statement[...]:
    """Returns the record, or the id."""

    def build() -> Executable:
        given: dict[str, ColumnElement[Any]] = {**parameters_of(table, names)}
        if is_stamped:
            given["modified_on"] = clock_time(given["workspace_id"])
        shown = table.c.id if record is None else as_text(record).label("shown")
        return insert(table).values(given).returning(shown)

    return Statement(build, is_told=True)


@cache
def _is_sealed(table: Table) -> bool:
    return any(isinstance(each.type, Sealed) for each in table.c)


@cache
def _defaulting(table: Table) -> tuple[Column[Any], ...]:
    return tuple(each for each in table.c if each.default is not None)
