"""Spreading a database over machines, against a recording stand-in that asks what the extension asks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, inspect, text

from persistence.migrations import MigrationError
from persistence.migrations.keys import OWNER, SHARED
from persistence.migrations.large_tables import distribute
from persistence.tables.complete import metadata
from testbed.servers import postgres_database
from tests.spreading_extension import STAND_IN


@pytest.fixture
def engine(postgres_url: str, postgres_template: str) -> Iterator[Engine]:
    with postgres_database(postgres_url, postgres_template) as url:
        made = create_engine(url)
        yield made
        made.dispose()


@pytest.fixture
def stand_in(engine: Engine) -> Engine:
    with engine.begin() as connection:
        connection.execute(text(STAND_IN))
    return engine


def references(engine: Engine) -> dict[str, set[tuple[str, ...]]]:
    found = inspect(engine).get_multi_foreign_keys()
    return {
        each.name: {(*key["constrained_columns"], key["referred_table"]) for key in found[None, each.name]}
        for each in metadata.sorted_tables
    }


def handed_over(engine: Engine) -> dict[str, tuple[str | None, str | None]]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT table_name::text, owner, beside FROM handed_over ORDER BY number"))
        return {name: (owner, beside) for name, owner, beside in rows}


def test_tables_of_workspaces_are_spread_side_by_side_and_shared_ones_copied(stand_in: Engine) -> None:
    before = references(stand_in)

    done = distribute(stand_in)

    found = handed_over(stand_in)
    assert set(found) == {*done.copied, *done.spread}
    owned = {each.name for each in metadata.sorted_tables if OWNER in each.c} - SHARED
    assert set(done.spread) == owned
    assert set(done.copied) >= SHARED
    assert {found[name] for name in done.copied} == {(None, None)}
    first, *others = [found[name] for name in found if name in owned]
    assert first == (OWNER, "default")
    assert set(others) == {(OWNER, next(name for name in found if name in owned))}
    assert list(found)[: len(done.copied)] == [name for name in found if name in done.copied]
    assert references(stand_in) == before
    assert distribute(stand_in) == done, "again"

    # A table that came later is spread beside the others.
    with stand_in.begin() as connection:
        connection.execute(text("DELETE FROM handed_over WHERE table_name = 'message_label'::regclass"))

    distribute(stand_in)

    assert handed_over(stand_in)["message_label"][0] == OWNER
    assert references(stand_in) == before


def test_a_database_without_the_extension_is_left_as_it_is(engine: Engine) -> None:
    before = references(engine)

    with pytest.raises(MigrationError, match="CREATE EXTENSION citus"):
        distribute(engine)

    assert references(engine) == before


def test_a_database_in_sqlite_cannot_be_spread(sqlite_template: Path) -> None:
    with pytest.raises(MigrationError, match="only a database in PostgreSQL"):
        distribute(create_engine(f"sqlite:///{sqlite_template}"))
