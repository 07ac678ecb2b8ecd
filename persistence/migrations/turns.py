"""Only one process changes the schema at a time, on a separate connection that waits without a time limit."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

from persistence.sql.engines import IMPATIENT, WRITING, Busy, create_patient_engine

logger = logging.getLogger("relayboard.migrations")

MIGRATION_LOCK = 7266141702
LOOK_SECONDS = 0.25
REMIND_SECONDS = 60.0
WAITING_POSTGRES = "another process changes the schema of this database; waiting until it is done"
WAITING_SQLITE = "another process writes to this database file; waiting until it is done"


@contextmanager
def taking_turns(engine: Engine) -> Iterator[Connection]:
    """A connection with the exclusive right to change the schema; logs when it has to wait. On SQLite it is in a
    transaction; on PostgreSQL it is not.
    """
    patient = create_patient_engine(engine)
    try:
        with patient.connect() as connection:
            if connection.dialect.name == "sqlite":
                connection = connection.execution_options(**{WRITING: IMPATIENT})
                _begin(connection)
                yield connection
                _check_references(connection)
                connection.commit()
            else:
                _take_lock(connection)
                yield connection
    finally:
        patient.dispose()


def _begin(connection: Connection) -> None:
    waited = _Waiting(WAITING_SQLITE)
    while True:
        try:
            connection.begin()
            return
        except Busy:
            waited.look_again()


def _take_lock(connection: Connection) -> None:
    """Takes a lock of this session, which ends with the connection. It polls instead of waiting within a statement:
    such a statement has a snapshot, and a concurrent index creation would wait for the end of that snapshot.
    """
    waited = _Waiting(WAITING_POSTGRES)
    while True:
        is_taken = connection.execute(text("select pg_try_advisory_lock(:lock)"), {"lock": MIGRATION_LOCK}).scalar_one()
        connection.commit()
        if is_taken:
            return
        waited.look_again()


class _Waiting:
    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.began = time.monotonic()
        self.said_at: float | None = None

    def look_again(self) -> None:
        now = time.monotonic()
        if self.said_at is None:
            logger.warning("%s", self.reason)
            self.said_at = now
        elif now - self.said_at >= REMIND_SECONDS:
            logger.warning("%s (for %.0f s so far)", self.reason, now - self.began)
            self.said_at = now
        time.sleep(LOOK_SECONDS)


def _check_references(connection: Connection) -> None:
    """SQLite does not check foreign keys while tables are created again; a violation rolls everything back."""
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if broken is not None:
        raise BrokenReference(f"a migration would leave rows of {broken[0]} that refer to nothing in {broken[2]}")


class BrokenReference(Exception):
    """A revision violates a foreign key; it was rolled back."""
