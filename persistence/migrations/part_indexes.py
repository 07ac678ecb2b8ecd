"""The indexes that find contacts by a part of their names and of their numbers, on a PostgreSQL that has the extension
pg_trgm. Without them a search reads all names or URNs of the workspace. They are in no revision, because an
extension may be installed later.

Indexes of PostgreSQL that are made while rows are written, also on partitioned tables. This loads no Alembic: each
start of a service looks for an index that is in no revision.
"""

import hashlib
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from persistence.database import Database
from persistence.errors import reason_of
from persistence.sql.engines import IMPATIENT, WRITING, Busy, create_patient_engine
from persistence.sql.query_functions import in_search_form
from persistence.tables.contacts import contact, contact_urn

logger = logging.getLogger("relayboard.migrations")

EXTENSION = "pg_trgm"
PENDING_KB = 256
"""New entries are collected before they are sorted in. Each search reads these, and who adds the last sorts them."""
WAITED_SECONDS = 2.0
"""Whoever waited for an index longer is told why."""
FINISHED = text(
    "SELECT indisvalid AND obj_description(indexrelid, 'pg_class') IS NOT DISTINCT FROM :mark"
    " FROM pg_index WHERE indexrelid = to_regclass(:name)"
)
SCHEMA_OF_EXTENSION = text(
    "SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace"
    " WHERE extname = :name"
)

MIGRATION_LOCK = 7266141702
LOOK_SECONDS = 0.25
REMIND_SECONDS = 60.0
WAITING_POSTGRES = "another process changes the schema of this database; waiting until it is done"
WAITING_SQLITE = "another process writes to this database file; waiting until it is done"


@dataclass(frozen=True, slots=True)
class PartIndex:
    """An index of the parts of a text, in the form in which searches look. Its comment is a mark of that form, which
    PostgreSQL writes otherwise than it was given.
    """

    name: str
    column: Column[Any]

    @property
    def table(self) -> str:
        return self.column.table.name

    def expression(self, connection: Connection) -> str:
        return in_search_form(self.column.name, connection.dialect)

    def mark(self, connection: Connection) -> str:
        return hashlib.sha256(self.expression(connection).encode()).hexdigest()

    def is_finished(self, connection: Connection) -> bool | None:
        """Whether the index can be used by this server; None if there is none."""
        return connection.execute(FINISHED, {"name": self.name, "mark": self.mark(connection)}).scalar()


PART_INDEXES = (
    PartIndex("ix_contact_name_parts", contact.c.name),
    PartIndex("ix_contact_urn_parts", contact_urn.c.path),
)
PART_INDEX_NAMES = frozenset(each.name for each in PART_INDEXES)


def finds_parts(database: Database) -> bool:
    """Whether the indexes are there, or there can be none: on SQLite."""
    if database.sqlite:
        return True
    with database.engine.connect() as connection:
        return _are_finished(connection)


def add_part_indexes(engine: Engine) -> None:
    """Creates those that are missing, while rows are written. A server that lacks the extension, or does not let us
    have it, works as well as before.
    """
    if engine.dialect.name != "postgresql":
        return
    with engine.connect() as connection:
        if _are_finished(connection) or not _is_available(connection):
            return
    with taking_turns(engine) as connection:
        _add(connection.execution_options(isolation_level="AUTOCOMMIT"))


def list_partitions(connection: Connection, table: str) -> Sequence[str]:
    found = text(
        "select inhrelid::regclass::text from pg_inherits where inhparent = cast(:table as regclass) order by 1"
    )
    return connection.execute(found, {"table": quote(connection, table)}).scalars().all()


def add_index_to_partitions(
    connection: Connection, name: str, table: str, parts: Sequence[str], rows: str, *, unique: bool = False
) -> None:
    """PostgreSQL creates no index on a partitioned table while rows are written, but one on each partition. `rows` is
    what follows the name of the table in its definition.
    """
    of_all, quoted = f"{'UNIQUE ' if unique else ''}INDEX", quote(connection, name)
    connection.exec_driver_sql(f"CREATE {of_all} IF NOT EXISTS {quoted} ON ONLY {quote(connection, table)} {rows}")
    for number, part in enumerate(parts):
        own = f"{name}_{number}"
        if is_half_made(connection, own):
            drop_index(connection, own)
        own = quote(connection, own)
        connection.exec_driver_sql(f"CREATE {of_all} CONCURRENTLY IF NOT EXISTS {own} ON {part} {rows}")
        connection.exec_driver_sql(f"ALTER INDEX {quoted} ATTACH PARTITION {own}")


def is_half_made(connection: Connection, name: str) -> bool:
    state = text("select indisvalid from pg_index where indexrelid = to_regclass(:name)")
    return connection.execute(state, {"name": quote(connection, name)}).scalar() is False


def drop_index(connection: Connection, name: str) -> None:
    connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY IF EXISTS {quote(connection, name)}")


def quote(connection: Connection, name: str) -> str:
    return connection.dialect.identifier_preparer.quote(name)


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


class BrokenReference(Exception):
    """A revision violates a foreign key; it was rolled back."""


def _are_finished(connection: Connection) -> bool:
    return all(each.is_finished(connection) for each in PART_INDEXES)


def _add(connection: Connection) -> None:
    # Another process may have been faster.
    missing = {each: finished for each in PART_INDEXES if not (finished := each.is_finished(connection))}
    schema = _have_extension(connection) if missing else None
    if schema is None:
        return
    for each, finished in missing.items():
        _make(connection, each, schema, is_spoilt=finished is False)


def _make(connection: Connection, index: PartIndex, schema: str, *, is_spoilt: bool) -> None:
    """`is_spoilt`: it was left incomplete, or made for another form."""
    began = time.monotonic()
    parts = list_partitions(connection, index.table)
    if is_spoilt:
        connection.exec_driver_sql(f"DROP INDEX {'' if parts else 'CONCURRENTLY'} {index.name}")
    found_by = f"{index.expression(connection)} {schema}.gin_trgm_ops"
    rows = f"USING gin ({found_by}) WITH (gin_pending_list_limit = {PENDING_KB})"
    if parts:
        add_index_to_partitions(connection, index.name, index.table, parts, rows)
    else:
        connection.exec_driver_sql(f"CREATE INDEX CONCURRENTLY {index.name} ON {index.table} {rows}")
    connection.exec_driver_sql(f"COMMENT ON INDEX {index.name} IS '{index.mark(connection)}'")
    # Until then PostgreSQL does not know which parts are rare.
    connection.exec_driver_sql(f"ANALYZE {index.table}")
    if (took := time.monotonic() - began) > WAITED_SECONDS:
        logger.info("%s.%s: parts are found by an index, made in %.1f s", index.table, index.column.name, took)


def _is_available(connection: Connection) -> bool:
    """Whether there is a table of contacts, and the extension can be had."""
    known = "SELECT count(*) FROM pg_available_extensions WHERE name = :name"
    is_known = connection.execute(text(known), {"name": EXTENSION}).scalar_one() > 0
    return is_known and inspect(connection).has_table(contact.name)


def _have_extension(connection: Connection) -> str | None:
    """The schema of the extension, which is created if this user may do so; None otherwise."""
    try:
        connection.exec_driver_sql(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")
    except DBAPIError as error:
        logger.warning("names and numbers stay without an index: %s", " ".join(reason_of(error).split()))
        return None
    return connection.execute(SCHEMA_OF_EXTENSION, {"name": EXTENSION}).scalar()


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


def _check_references(connection: Connection) -> None:
    """SQLite does not check foreign keys while tables are created again; a violation rolls everything back."""
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if broken is not None:
        raise BrokenReference(f"a migration would leave rows of {broken[0]} that refer to nothing in {broken[2]}")
