"""What the revisions make is what the tables of the code declare, down to lengths, time zones and what a key does when
its row goes: a database tells, made by each.
"""

import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, inspect, text

from persistence.database import Database
from persistence.migrations.keys import OWNER
from persistence.migrations.part_indexes import PART_INDEX_NAMES
from persistence.tables.conditions import metadata
from testbed.servers import postgres_database

COLUMNS = text(
    "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,"
    " pg_get_expr(d.adbin, d.adrelid) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
    " LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum"
    " WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped"
)
INDEXES = text(
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE 'pk_%'"
)
CHECKS = text(
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE contype IN ('c', 'u', 'x') AND connamespace = 'public'::regnamespace"
)
ALEMBIC = "alembic_version"
Rows = set[tuple[Any, ...]]


@pytest.fixture
def declared(request: pytest.FixtureRequest, migrated_database: Database, tmp_path: Path) -> Iterator[Engine]:
    """Another empty database, with the tables as the code declares them."""
    place = nullcontext(f"sqlite:///{tmp_path / 'declared.db'}")
    with place if migrated_database.sqlite else postgres_database(request.getfixturevalue("postgres_url")) as url:
        made = Database(url)
        metadata.create_all(made.engine)
        yield made.engine
        made.close()


@pytest.mark.plans  # the code declares no partitions
def test_revisions_make_what_the_code_declares(migrated_database: Database, declared: Engine) -> None:
    assert described(migrated_database.engine) == described(declared)
    assert references(migrated_database.engine) == references(declared)


def described(engine: Engine) -> Rows:
    """The columns, indexes and rules of all tables, as the database tells them."""
    return on_sqlite(engine) if engine.dialect.name == "sqlite" else on_postgresql(engine)


def on_postgresql(engine: Engine) -> Rows:
    with engine.connect() as connection:
        found = [tuple(row) for each in (COLUMNS, INDEXES, CHECKS) for row in connection.execute(each)]
    return {row for row in found if row[0] != ALEMBIC and row[1] not in PART_INDEX_NAMES}


def on_sqlite(engine: Engine) -> Rows:
    found: Rows = set()
    with engine.connect() as connection:
        for table in sorted(set(inspect(engine).get_table_names()) - {ALEMBIC} - PART_INDEX_NAMES):
            columns = connection.exec_driver_sql(f"PRAGMA table_info('{table}')")
            found |= {(table, *row[1:-1], bool(row[-1])) for row in columns}
        whole = connection.exec_driver_sql("SELECT tbl_name, type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        for table, kind, name, sql in whole:
            if table == ALEMBIC or name in PART_INDEX_NAMES:
                continue
            if kind == "table":
                rules = re.findall(r"CONSTRAINT \S+ (?:UNIQUE|CHECK) .*", sql)
                found.add((table, "AUTOINCREMENT" in sql, *sorted(each.rstrip(", ") for each in rules)))
            else:
                found.add((table, name, re.sub(r"\s+", " ", sql)))
    return found


def references(engine: Engine) -> Rows:
    """Each key of a table with the table that it names and what follows when that row goes; without the workspace,
    which revisions add to keys on PostgreSQL.
    """
    found = inspect(engine).get_multi_foreign_keys()
    return {
        (
            table,
            *(
                column
                for column in each["constrained_columns"]
                if column != OWNER or len(each["constrained_columns"]) == 1
            ),
            each["referred_table"],
            *sorted(each.get("options", {}).items()),
        )
        for (_, table), keys in found.items()
        for each in keys
    }
