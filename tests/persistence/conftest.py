"""Fixtures: databases without tables."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from persistence.database import Database
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
