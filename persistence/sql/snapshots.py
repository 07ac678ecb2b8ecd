"""Statements that have to agree with each other."""

from collections.abc import Iterator
from contextlib import contextmanager

from persistence.database import Transaction


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
