import pytest
from sqlalchemy import text

import persistence.statistics
from persistence.statistics import refresh_statistics
from tests.factories import make_contact, make_messages
from worker.jobs import JOBS, begin_statistics


def known_tables(database):
    with database.reading() as tx:
        if tx.execute(text("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'")).scalar_one() == 0:
            return set()
        return set(tx.execute(text("SELECT tbl FROM sqlite_stat1")).scalars())


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_worker_lets_sqlite_know_its_large_tables_and_leaves_small_ones_unknown(
    runtime, database, workspace, monkeypatch
):
    monkeypatch.setattr(persistence.statistics, "LEAST_ROWS", 50)
    make_messages(database, workspace, make_contact(database, workspace), 50)
    before = known_tables(database)
    step = begin_statistics(runtime)

    assert (before, step(), known_tables(database)) == (set(), False, {"message", "record_stamp"})
    assert [job.every_seconds for job in JOBS if job.kind == "statistics"] == [3600]


def test_small_tables_and_those_of_a_server_are_left_alone(database, workspace):
    make_messages(database, workspace, make_contact(database, workspace), 3)

    assert refresh_statistics(database) == []
