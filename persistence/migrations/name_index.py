"""The index that finds contacts by a part of their names, on a PostgreSQL that has the extension pg_trgm. Without it a
search reads all names of the workspace. It is in no revision, because an extension may be installed later.
"""

import logging
import time

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from persistence.database import Database
from persistence.errors import reason_of
from persistence.migrations.partitions import add_index_to_partitions, list_partitions
from persistence.migrations.turns import taking_turns
from persistence.sql.query_functions import UNICODE_TABLES, in_lower_case
from persistence.tables.contacts import contact

logger = logging.getLogger("relayboard.migrations")

NAME_INDEX = "ix_contact_name_parts"
EXTENSION = "pg_trgm"
PENDING_KB = 256
"""New entries are collected before they are sorted in. Each search reads these, and who adds the last sorts them."""
WAITED_SECONDS = 2.0
"""Whoever waited for the index longer is told why."""
FINISHED = text(
    "SELECT indisvalid AND (position(:tables in pg_get_indexdef(indexrelid)) > 0) = (position(:tables in :wanted) > 0)"
    " FROM pg_index WHERE indexrelid = to_regclass(:name)"
)
SCHEMA_OF_EXTENSION = text(
    "SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace"
    " WHERE extname = :name"
)


def finds_names(database: Database) -> bool:
    """Whether the index is there, or there can be none: on SQLite."""
    if database.sqlite:
        return True
    with database.engine.connect() as connection:
        return _is_finished(connection) is True


def add_name_index(engine: Engine) -> None:
    """Creates the index if it is missing, while rows are written. A server that lacks the extension, or does not let
    us have it, works as well as before.
    """
    if engine.dialect.name != "postgresql":
        return
    with engine.connect() as connection:
        if _is_finished(connection) or not _is_available(connection):
            return
    with taking_turns(engine) as connection:
        _add(connection.execution_options(isolation_level="AUTOCOMMIT"))


def _add(connection: Connection) -> None:
    finished = _is_finished(connection)
    if finished:  # another process was faster
        return
    schema = _have_extension(connection)
    if schema is None:
        return
    began = time.monotonic()
    parts = list_partitions(connection, contact.name)
    if finished is False:  # left incomplete, or made by a server that folded case by other tables
        connection.exec_driver_sql(f"DROP INDEX {'' if parts else 'CONCURRENTLY'} {NAME_INDEX}")
    rows = f"USING gin ({_expression(connection)} {schema}.gin_trgm_ops) WITH (gin_pending_list_limit = {PENDING_KB})"
    if parts:
        add_index_to_partitions(connection, NAME_INDEX, contact.name, parts, rows)
    else:
        connection.exec_driver_sql(f"CREATE INDEX CONCURRENTLY {NAME_INDEX} ON {contact.name} {rows}")
    # Until then PostgreSQL does not know which parts of names are rare.
    connection.exec_driver_sql(f"ANALYZE {contact.name}")
    if (took := time.monotonic() - began) > WAITED_SECONDS:
        logger.info("contacts are found by parts of their names by an index, made in %.1f s", took)


def _is_finished(connection: Connection) -> bool | None:
    """Whether the index can be used by this server; None if there is none."""
    values = {"name": NAME_INDEX, "tables": UNICODE_TABLES, "wanted": _expression(connection)}
    return connection.execute(FINISHED, values).scalar()


def _expression(connection: Connection) -> str:
    return in_lower_case(contact.c.name.name, connection.dialect)


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
        logger.warning("names stay without an index: %s", " ".join(reason_of(error).split()))
        return None
    return connection.execute(SCHEMA_OF_EXTENSION, {"name": EXTENSION}).scalar()
