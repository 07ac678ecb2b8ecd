"""Spreads a database over several machines by workspace, with the functions of PostgreSQL's extension Citus."""

from dataclasses import dataclass

from sqlalchemy import Connection, Engine, Table, text

from persistence.migrations import MigrationError
from persistence.migrations.keys import OWNER, SHARED
from persistence.tables.complete import metadata


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
