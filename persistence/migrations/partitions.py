"""Indexes of PostgreSQL that are made while rows are written, also on partitioned tables. This loads no Alembic: each
start of a service looks for an index that is in no revision.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text


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
