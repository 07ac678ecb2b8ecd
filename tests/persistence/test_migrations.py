"""The schema's revisions, up and down, on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect

from persistence.database import Database
from persistence.migrations import current_revision, downgrade, upgrade
from persistence.tables import metadata
from testbed.servers import postgres_database


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'empty.db'}")
        yield database
        database.close()
        return
    with postgres_database(request.getfixturevalue("postgres_url")) as url:
        database = Database(url)
        yield database
        database.close()


def test_upgrading_an_empty_database_gives_the_tables_of_the_code(empty_database: Database) -> None:
    upgrade(empty_database.engine)

    with empty_database.engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    assert differences == []


def test_upgrading_twice_changes_nothing(empty_database: Database) -> None:
    upgrade(empty_database.engine)
    first = current_revision(empty_database.engine)

    upgrade(empty_database.engine)

    assert current_revision(empty_database.engine) == first


def test_downgrading_to_the_beginning_leaves_no_table(empty_database: Database) -> None:
    upgrade(empty_database.engine)

    downgrade(empty_database.engine)

    assert set(inspect(empty_database.engine).get_table_names()) <= {"alembic_version"}
