"""Fixtures: databases without tables, and with all of them but no row, which a test may change as it likes."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from persistence.database import Database
from testbed.databases import migrate
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


@pytest.fixture(params=["sqlite", "postgresql"])
def migrated_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A copy of what migrating makes, which takes a second of CPU."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'migrated.db'}"
        migrate(url)
        with closing(Database(url)) as database:
            yield database
        return
    template = request.getfixturevalue("postgres_template")
    with (
        postgres_database(request.getfixturevalue("postgres_url"), template) as url,
        closing(Database(url)) as database,
    ):
        yield database
