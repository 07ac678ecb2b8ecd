"""Fixtures: databases without tables, with all of them but no row, and with all of them in partitions, which a test may
change as it likes."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url

from persistence.database import Database
from persistence.migrations import upgrade
from testbed.databases import migrate
from testbed.servers import postgres_database
from tests.partitions import partitioning


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


@pytest.fixture(scope="session")
def divided_template(postgres_url: str) -> Iterator[str]:
    """The name of a migrated database with two partitions for each table of workspaces, which tests copy."""
    with postgres_database(postgres_url) as url:
        engine = create_engine(url)
        with partitioning(url, 2):
            upgrade(engine)
        engine.dispose()
        yield str(make_url(url).database)


@pytest.fixture
def divided_database(divided_template: str, postgres_url: str) -> Iterator[Database]:
    with postgres_database(postgres_url, divided_template) as url, closing(Database(url)) as database:
        yield database
