"""Rows that many tests begin with: made once as the service makes them, then stored again as they were."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Generic, TypeVar

import psycopg2
from sqlalchemy import Table

from persistence.database import Database
from persistence.tables.accounts import workspace

TABLES = workspace.metadata.sorted_tables
SEQUENCES = "SELECT sequencename::text, last_value FROM pg_sequences WHERE last_value IS NOT NULL"
Made = TypeVar("Made")


class KeptRows(Generic[Made]):
    """The rows that a piece of work leaves in a database, as statements of its dialect, and its result."""

    def __init__(self, database: Database, work: Callable[[], Made]) -> None:
        """Does the work. Raises AssertionError if it changes or deletes rows that were there before."""
        rows, sequences = _read_rows(database), _read_sequences(database)
        self.made = work()
        statements = []
        for table, now in zip(TABLES, _read_rows(database).values(), strict=True):
            assert rows[table.name] <= now, f"rows of {table.name} were changed"
            target = f"{table.name} ({', '.join(_columns(table))})"
            statements += [f"INSERT INTO {target} VALUES ({row})" for row in sorted(now - rows[table.name])]
        moved = _read_sequences(database).items() - sequences.items()
        self._script = ";".join(statements + [f"SELECT setval('{name}', {last})" for name, last in sorted(moved)])

    def store(self, database: Database) -> bool:
        """Store the rows; False, and nothing is stored, if others are in their place."""
        connection = database.engine.raw_connection()
        try:
            with closing(connection.cursor()) as cursor:
                if database.sqlite:
                    cursor.executescript(f"BEGIN IMMEDIATE;{self._script};COMMIT")
                else:
                    cursor.execute(self._script)
            connection.commit()
        except (sqlite3.IntegrityError, psycopg2.IntegrityError):
            connection.rollback()
            return False
        finally:
            connection.close()
        return True


def _columns(table: Table) -> list[str]:
    return [f'"{column.name}"' for column in table.columns if column.computed is None]


def _read_rows(database: Database) -> dict[str, set[str]]:
    """All rows by table, each as the list of its values in SQL."""
    rows = {}
    with database.reading() as tx:
        for table in TABLES:
            quoted = [f"quote({name})" if tx.sqlite else f"quote_nullable({name}::text)" for name in _columns(table)]
            values = " || ', ' || ".join(quoted)
            found = tx.connection.exec_driver_sql(f"SELECT {values} FROM {table.name}")
            rows[table.name] = {row for (row,) in found}
    return rows


def _read_sequences(database: Database) -> dict[str, int]:
    if database.sqlite:
        return {}
    with database.reading() as tx:
        return {name: last for name, last in tx.connection.exec_driver_sql(SEQUENCES)}
