"""Which tables a worker rewrites by itself, which it leaves to a command, and in which session it does so."""

from contextlib import closing, nullcontext

import pytest

from persistence.database import Database
from persistence.migrations import upgrade
from persistence.rights import rewriting
from persistence.rights.rewriting import SIZE, rewrite_files
from tests.partitions import partitioning

NOWHERE = "postgresql://user@127.0.0.1:1/none"


@pytest.mark.parametrize("empty_database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("parts", [0, 2])
def test_a_table_is_as_large_as_all_its_partitions(
    empty_database: Database, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    with partitioning(empty_database.url, parts) if parts else nullcontext():
        upgrade(empty_database.engine)
    with empty_database.engine.connect() as connection:
        size = connection.execute(SIZE, {"name": "message"}).scalar_one()
        names = [f"message_part{number}" for number in range(parts)] or ["message"]
        each = [connection.exec_driver_sql(f"SELECT pg_total_relation_size('{name}')").scalar_one() for name in names]
    assert size == sum(each) > 0

    assert rewrite_files(empty_database)
    monkeypatch.setattr(rewriting, "MOST_TABLE_BYTES", int(size) - 1)
    assert not rewrite_files(empty_database)
    assert rewrite_files(empty_database, is_forced=True)


@pytest.mark.parametrize("empty_database", ["postgresql"], indirect=True)
def test_tables_are_rewritten_in_the_database_itself_and_not_through_a_pooler(empty_database: Database) -> None:
    upgrade(empty_database.engine)

    with closing(Database(NOWHERE, is_behind_pooler=True, direct_url=empty_database.url)) as pooled:
        assert rewrite_files(pooled)
