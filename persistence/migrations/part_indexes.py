"""The indexes of searches: those that find contacts by a part of their names and of their numbers, on a PostgreSQL that
has the extension pg_trgm, and that of the words of messages. Without them a search reads all names, URNs or messages of
the workspace. They are in no revision, because an extension may be installed later, and because they are made anew
when searches look for another form of texts. SQLite has only the words (`persistence.migrations.word_index`).

Indexes of PostgreSQL that are made while rows are written, also on partitioned tables. This loads no Alembic: each
start of a service looks for an index that is in no revision.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Column, Connection, Dialect, Engine, Index, text
from sqlalchemy.exc import DBAPIError

from persistence.database import Database
from persistence.errors import reason_of
from persistence.migrations.word_index import WORD_TABLES, add_words, has_words
from persistence.sql.engines import IMPATIENT, WRITING, Busy, create_patient_engine
from persistence.sql.query_functions import as_words, in_search_form
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.messages import message

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
KNOWN_EXTENSION = text("SELECT count(*) FROM pg_available_extensions WHERE name = :name")
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
    """An index of the parts or words of a text, in the form in which searches look. Its comment is a mark of that form,
    which PostgreSQL writes otherwise than it was given. Parts need the `operators` of the extension.
    """

    name: str
    column: Column[Any]
    form: Callable[[str, Dialect], str] = in_search_form
    operators: str | None = "gin_trgm_ops"

    @property
    def table(self) -> str:
        return self.column.table.name

    def expression(self, connection: Connection) -> str:
        return self.form(self.column.name, connection.dialect)

    def mark(self, connection: Connection) -> str:
        return hashlib.sha256(self.expression(connection).encode()).hexdigest()

    def is_finished(self, connection: Connection) -> bool | None:
        """Whether the index can be used by this server; None if there is none."""
        return connection.execute(FINISHED, {"name": self.name, "mark": self.mark(connection)}).scalar()


PART_INDEXES = (
    PartIndex("ix_contact_name_parts", contact.c.name),
    PartIndex("ix_contact_urn_parts", contact_urn.c.path),
)
WORD_INDEX = PartIndex("ix_message_words", message.c.text, partial(as_words, message.c.workspace_id.name), None)
PART_INDEX_NAMES = frozenset({*(each.name for each in (*PART_INDEXES, WORD_INDEX)), *WORD_TABLES})
"""The names of what is in no revision, of both databases."""


def finds_parts(database: Database) -> bool:
    """Whether the indexes of names and numbers are there, or there can be none: on SQLite."""
    if database.sqlite:
        return True
    with database.engine.connect() as connection:
        return all(each.is_finished(connection) for each in PART_INDEXES)


def add_part_indexes(engine: Engine) -> None:
    """Creates those that are missing, on PostgreSQL while rows are written. A server that lacks the extension, or does
    not let us have it, works as well as before.
    """
    is_sqlite = engine.dialect.name == "sqlite"
    with engine.connect() as connection:
        if has_words(connection) if is_sqlite else not _find_missing(connection):
            return
    with taking_turns(engine) as connection:
        if is_sqlite:
            add_words(connection)
        else:
            _add(connection.execution_options(isolation_level="AUTOCOMMIT"))


def list_partitions(connection: Connection, table: str) -> Sequence[str]:
    found = text(
        "select inhrelid::regclass::text from pg_inherits where inhparent = cast(:table as regclass) order by 1"
    )
    return connection.execute(found, {"table": quote(connection, table)}).scalars().all()


def is_computed(item: object) -> bool:
    """Whether it is an index of expressions, which cannot be compared: PostgreSQL writes them otherwise than they were
    given, and of SQLite they cannot be read.
    """
    return isinstance(item, Index) and not all(isinstance(each, Column) for each in item.expressions)


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


def _find_missing(connection: Connection) -> dict[PartIndex, bool | None]:
    """The indexes that this server can have and that are not finished, each with whether it is half made."""
    is_known = connection.execute(KNOWN_EXTENSION, {"name": EXTENSION}).scalar_one() > 0
    possible = (*(PART_INDEXES if is_known else ()), WORD_INDEX)
    return {each: finished for each in possible if not (finished := each.is_finished(connection))}


def _add(connection: Connection) -> None:
    # Another process may have been faster.
    missing = _find_missing(connection)
    schema = _have_extension(connection) if any(each.operators for each in missing) else None
    for each, finished in missing.items():
        if each.operators is None:
            _make(connection, each, "", is_spoilt=finished is False)
        elif schema is not None:
            _make(connection, each, f"{schema}.{each.operators}", is_spoilt=finished is False)


def _make(connection: Connection, index: PartIndex, operators: str, *, is_spoilt: bool) -> None:
    """`is_spoilt`: it was left incomplete, or made for another form."""
    began = time.monotonic()
    parts = list_partitions(connection, index.table)
    if is_spoilt:
        connection.exec_driver_sql(f"DROP INDEX {'' if parts else 'CONCURRENTLY'} {index.name}")
    rows = f"USING gin (({index.expression(connection)}) {operators}) WITH (gin_pending_list_limit = {PENDING_KB})"
    if parts:
        add_index_to_partitions(connection, index.name, index.table, parts, rows)
    else:
        connection.exec_driver_sql(f"CREATE INDEX CONCURRENTLY {index.name} ON {index.table} {rows}")
    connection.exec_driver_sql(f"COMMENT ON INDEX {index.name} IS '{index.mark(connection)}'")
    # Until then PostgreSQL does not know which parts are rare.
    connection.exec_driver_sql(f"ANALYZE {index.table}")
    if (took := time.monotonic() - began) > WAITED_SECONDS:
        logger.info("%s.%s: searches have an index, made in %.1f s", index.table, index.column.name, took)


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
