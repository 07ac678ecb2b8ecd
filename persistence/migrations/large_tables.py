"""Changes large tables while other processes use them; revisions call these functions instead of Alembic's own. On
PostgreSQL each function leaves the transaction of its revision: what came before in the file is committed by then, so a
revision that calls one of these does nothing else, or only what can be repeated. After an interruption each function
can be called again and continues. On SQLite, where one process writes at a time, a revision stays one transaction.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from alembic import op
from sqlalchemy import Connection, Engine, Table, TextClause, text

from persistence.migrations import MigrationError
from persistence.migrations.keys import OWNER, SHARED
from persistence.migrations.part_indexes import (
    add_index_to_partitions,
    drop_index,
    is_half_made,
    list_partitions,
    quote,
)
from persistence.tables.complete import metadata
from relayboard.base.progress import report

BATCH = 10_000
BOOKMARKS = "migration_bookmark"


def add_index(
    name: str,
    table: str,
    columns: Sequence[str | TextClause],
    *,
    unique: bool = False,
    where: str | None = None,
) -> None:
    """Creates an index of columns, or of expressions, while rows are written. An index that a failed attempt left
    incomplete is dropped first."""
    condition, listed = None if where is None else text(where), list(columns)
    if _is_sqlite():
        op.create_index(name, table, listed, unique=unique, if_not_exists=True, sqlite_where=condition)
        return
    with _outside_transaction() as connection:
        parts = list_partitions(connection, table)
        if parts:
            parts_of = [quote(connection, each) if isinstance(each, str) else each.text for each in columns]
            rows = f"({', '.join(parts_of)}){f' WHERE {where}' if where else ''}"
            add_index_to_partitions(connection, name, table, parts, rows, unique=unique)
            return
        if is_half_made(connection, name):
            drop_index(connection, name)
    with op.get_context().autocommit_block():
        op.create_index(
            name,
            table,
            listed,
            unique=unique,
            if_not_exists=True,
            postgresql_where=condition,
            postgresql_concurrently=True,
        )


def remove_index(name: str, table: str) -> None:
    """Drops an index without blocking readers."""
    if _is_sqlite():
        op.drop_index(name, table, if_exists=True)
        return
    with _outside_transaction() as connection:
        if list_partitions(connection, table):
            connection.exec_driver_sql(f"DROP INDEX IF EXISTS {quote(connection, name)}")
        else:
            drop_index(connection, name)


def add_statistics(name: str, table: str, columns: Sequence[str]) -> None:
    """Lets PostgreSQL learn which values of columns often come together, and learn it now."""
    if _is_sqlite():
        return
    with _outside_transaction() as connection:
        quoted = ", ".join(quote(connection, each) for each in columns)
        whole = quote(connection, table)
        named = f"CREATE STATISTICS IF NOT EXISTS {quote(connection, name)}"
        connection.exec_driver_sql(f"{named} (mcv) ON {quoted} FROM {whole}")
        connection.exec_driver_sql(f"ANALYZE {whole}")


def remove_statistics(name: str) -> None:
    if _is_sqlite():
        return
    with _outside_transaction() as connection:
        connection.exec_driver_sql(f"DROP STATISTICS IF EXISTS {quote(connection, name)}")


def add_checked_constraint(table: str, name: str, definition: str) -> None:
    """A foreign key or check (`FOREIGN KEY (...) REFERENCES ...`, `CHECK (...)`) on a table of PostgreSQL.

    It applies to new rows at once; existing rows are checked without blocking writers.
    """
    known = "select convalidated from pg_constraint where conname = :name and conrelid = cast(:table as regclass)"
    with _outside_transaction() as connection:
        is_valid = connection.execute(text(known), {"name": name, "table": table}).scalar()
        quoted = quote(connection, table), quote(connection, name)
        if is_valid is None:
            connection.exec_driver_sql(f"ALTER TABLE {quoted[0]} ADD CONSTRAINT {quoted[1]} {definition} NOT VALID")
        if not is_valid:
            connection.exec_driver_sql(f"ALTER TABLE {quoted[0]} VALIDATE CONSTRAINT {quoted[1]}")


def change_in_batches(name: str, table: str, statement: str, *, batch: int = BATCH) -> None:
    """Runs a statement over a table in batches, each in its own transaction, which also stores a bookmark. The
    statement contains the rows of its batch: `UPDATE contact SET ... WHERE id > :after AND id <= :upto`. `name` is the
    bookmark's, unique among all revisions.
    """
    with _outside_transaction() as connection:
        connection.exec_driver_sql(
            f"CREATE TABLE IF NOT EXISTS {BOOKMARKS} (name VARCHAR(64) PRIMARY KEY, last_id BIGINT NOT NULL)"
        )
        while _change_batch(connection, name, table, statement, batch):
            pass
        connection.exec_driver_sql(f"DROP TABLE {BOOKMARKS}")


@dataclass(frozen=True, slots=True)
class Distribution:
    """The tables that are copied to every machine, and those whose rows are on the machine of their workspace."""

    copied: tuple[str, ...]
    spread: tuple[str, ...]


def distribute(engine: Engine) -> Distribution:
    """Distribute the tables that are not distributed yet, in one transaction. Raises MigrationError. Tables that rows
    of every workspace refer to are copied to every machine, so that references stay within one machine.
    """
    if engine.dialect.name != "postgresql":
        raise MigrationError("only a database in PostgreSQL can be spread over several machines")
    tables = [each for each in metadata.sorted_tables if not _is_local(each)]
    with engine.begin() as connection:
        _check_extension(connection)
        done = set(connection.execute(text("SELECT table_name::text FROM citus_tables")).scalars())
        left = [each for each in tables if each.name not in done]
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'"))
        references = _drop_references(connection, [each.name for each in left])
        for table in sorted(left, key=_is_spread):
            _hand_over(connection, table.name, tables, is_spread=_is_spread(table))
        for statement in references:
            connection.execute(text(statement))
    copied = tuple(each.name for each in tables if not _is_spread(each))
    return Distribution(copied, tuple(each.name for each in tables if _is_spread(each)))


def _change_batch(connection: Connection, name: str, table: str, statement: str, batch: int) -> bool:
    """Runs the next batch; returns False if none is left."""
    read = text(f"SELECT last_id FROM {BOOKMARKS} WHERE name = :name")
    after = connection.execute(read, {"name": name}).scalar() or 0
    ids = f"SELECT id FROM {quote(connection, table)} WHERE id > :after ORDER BY id LIMIT :batch"
    found = text(f"SELECT max(id) FROM ({ids}) AS following")
    upto = connection.execute(found, {"after": after, "batch": batch}).scalar()
    if upto is None:
        return False
    last = connection.execute(text(f"SELECT max(id) FROM {quote(connection, table)}")).scalar() or 0
    report(f"Filling what follows from the table {table}", upto, last)
    written = text(
        f"INSERT INTO {BOOKMARKS} (name, last_id) VALUES (:name, :upto) "
        "ON CONFLICT (name) DO UPDATE SET last_id = excluded.last_id"
    )
    if _is_sqlite():
        connection.execute(text(statement), {"after": after, "upto": upto})
        connection.execute(written, {"name": name, "upto": upto})
        return True
    # The connection is outside of SQLAlchemy's transactions here, so BEGIN is sent explicitly.
    connection.exec_driver_sql("BEGIN")
    try:
        connection.execute(text(statement), {"after": after, "upto": upto})
        connection.execute(written, {"name": name, "upto": upto})
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    return True


def _is_sqlite() -> bool:
    return op.get_context().dialect.name == "sqlite"


@contextmanager
def _outside_transaction() -> Iterator[Connection]:
    if _is_sqlite():
        yield op.get_bind()
        return
    with op.get_context().autocommit_block():
        yield op.get_bind()


def _is_spread(table: Table) -> bool:
    return OWNER in table.c and table.name not in SHARED


def _is_local(table: Table) -> bool:
    """Whether only the first machine needs a table: nothing refers to it, and it refers to nothing."""
    return not _is_spread(table) and table.name not in SHARED and not table.foreign_keys


def _check_extension(connection: Connection) -> None:
    if connection.execute(text("SELECT to_regclass('citus_tables')")).scalar_one() is None:
        raise MigrationError("the database lacks the extension that spreads it: run CREATE EXTENSION citus in it")


def _drop_references(connection: Connection, tables: list[str]) -> list[str]:
    """Drops the foreign keys from and to these tables, which cannot be distributed with them. Returns the statements
    that add them again, those between copied tables first.
    """
    found = connection.execute(
        text(
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE contype = 'f' AND conparentid = 0"
            " AND (conrelid::regclass::text = ANY(:tables) OR confrelid::regclass::text = ANY(:tables))"
            " ORDER BY conrelid::regclass::text, conname"
        ),
        {"tables": tables},
    ).all()
    for table, name, _ in found:
        connection.execute(text(f"ALTER TABLE {table} DROP CONSTRAINT {name}"))
    return [f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}" for table, name, definition in found]


def _hand_over(connection: Connection, name: str, tables: list[Table], *, is_spread: bool) -> None:
    if not is_spread:
        connection.execute(text("SELECT create_reference_table(:name)"), {"name": name})
        return
    first = next(each.name for each in tables if _is_spread(each))
    beside = "default" if name == first else first
    statement = "SELECT create_distributed_table(:name, :owner, colocate_with => :beside)"
    connection.execute(text(statement), {"name": name, "owner": OWNER, "beside": beside})
