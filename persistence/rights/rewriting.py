"""Rewrites the files of the database, so that they hold nothing of what was deleted: databases only mark space as free.
Meanwhile others wait: on SQLite those who write, on PostgreSQL those who use the table that is rewritten.
"""

from pathlib import Path

import psycopg2
from sqlalchemy import Connection, Engine, make_url, text
from sqlalchemy.exc import DBAPIError

from persistence.database import Database
from persistence.rights.erasing import AFFECTED

MOST_SQLITE_BYTES = 1 << 30
MOST_TABLE_BYTES = 256 << 20
"""What a worker rewrites by itself takes seconds; more is left to a command that operators run at a quiet hour."""
SIZE = text("""
    SELECT sum(pg_total_relation_size(part)) FROM (
        SELECT to_regclass(:name) AS part UNION SELECT relid FROM pg_partition_tree(to_regclass(:name))
    ) AS parts
""")
"""The bytes of a table, in all its partitions."""
STATISTICS = "pg_catalog.pg_statistic"
"""Where PostgreSQL keeps frequent values of columns."""
TEXTS = ("text", "character", "json")
"""Types of columns that can hold what is known of a person, as they begin."""


def rewrite_files(database: Database, *, is_forced: bool = False) -> bool:
    """Rewrites everything from which persons are erased; returns whether nothing was left out because it is large."""
    if database.sqlite:
        return _rewrite_sqlite(database, is_forced=is_forced)
    engine = database.create_patient_engine()
    try:
        return _rewrite_postgres(engine, is_forced=is_forced)
    finally:
        engine.dispose()


def _rewrite_sqlite(database: Database, *, is_forced: bool) -> bool:
    """The log is emptied before and after; it cannot be while somebody reads an older state, who has to end first."""
    path = Path(make_url(database.url).database or "")
    if not is_forced and path.stat().st_size > MOST_SQLITE_BYTES:
        return False
    engine = database.create_patient_engine()
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute("VACUUM")
        is_busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1,)
        return not is_busy
    finally:
        connection.close()
        engine.dispose()


def _rewrite_postgres(engine: Engine, *, is_forced: bool) -> bool:
    is_whole = True
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in AFFECTED:
            size = connection.execute(SIZE, {"name": table}).scalar() or 0
            if size > MOST_TABLE_BYTES and not is_forced:
                is_whole = False
                continue
            connection.exec_driver_sql(f'VACUUM (FULL, ANALYZE) "{table}"')
            _forget_statistics(connection, table)
        connection.exec_driver_sql(f"VACUUM (FULL) {STATISTICS}")
        try:
            connection.exec_driver_sql(
                "CHECKPOINT"
            )  # files of former states are removed then, otherwise a little later
        except DBAPIError as error:
            if not isinstance(error.orig, psycopg2.errors.InsufficientPrivilege):
                raise
    return is_whole


def _forget_statistics(connection: Connection, table: str) -> None:
    """ANALYZE keeps the frequent values of a table that has become empty. Setting the type of a column anew removes its
    values; nothing is rewritten.
    """
    if connection.exec_driver_sql(f'SELECT 1 FROM "{table}" LIMIT 1').first() is not None:
        return
    known = text(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_stats s"
        " JOIN pg_attribute a ON a.attrelid = to_regclass(:name) AND a.attname = s.attname"
        " WHERE s.schemaname = current_schema() AND s.tablename = :name"
    )
    for column, kind in connection.execute(known, {"name": table}).all():
        if kind.startswith(TEXTS):
            connection.exec_driver_sql(f'ALTER TABLE "{table}" ALTER COLUMN "{column}" TYPE {kind}')
