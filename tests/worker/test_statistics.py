import pytest
from sqlalchemy import event, text

import persistence.sql.statistics
from persistence.labels import LABELS, create_label
from persistence.lists import ListQuery, fetch_list
from persistence.sql.statistics import learn_filled_tables, refresh_statistics
from tests.factories import make_contact, make_messages
from tests.unknown_tables import unknown_table
from worker.jobs import JOBS, begin_learning, begin_statistics

OF_MESSAGES = "FROM pg_class WHERE relkind = 'r' AND relname ~ '^message(_part.+)?$'"
"""The table of messages, or its partitions."""


def known_tables(database):
    with database.reading() as tx:
        if tx.execute(text("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'")).scalar_one() == 0:
            return set()
        return set(tx.execute(text("SELECT tbl FROM sqlite_stat1")).scalars())


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_worker_lets_sqlite_know_its_large_tables_and_leaves_small_ones_unknown(
    runtime, database, workspace, monkeypatch
):
    monkeypatch.setattr(persistence.sql.statistics, "LEAST_ROWS", 50)
    make_messages(database, workspace, make_contact(database, workspace), 50)
    before = known_tables(database)
    step = begin_statistics(runtime)

    assert (before, step(), known_tables(database)) == (set(), False, {"message", "record_stamp"})
    assert [job.every_seconds for job in JOBS if job.kind == "statistics"] == [3600]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlite_forgets_that_a_table_was_small_before_its_lists_read_all_of_it(
    runtime, database, workspace, monkeypatch
):
    monkeypatch.setattr(persistence.sql.statistics, "LEAST_ROWS", 50)
    make_messages(database, workspace, make_contact(database, workspace), 50)
    with database.writing() as tx:
        create_label(tx, workspace.id, "Urgent")
        tx.execute(text("ANALYZE"))
    seen, plans = [], []
    event.listen(database.engine, "before_cursor_execute", lambda *given: seen.append(given[2:4]))

    for look in (lambda: None, begin_statistics(runtime)):
        look()
        with database.reading() as tx:
            fetch_list(ListQuery(tx, workspace), LABELS, None, 50)
            (page,) = [each for each in seen if each[0].startswith("WITH picked")]
            plan = tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {page[0]}", page[1])
            plans.append([row[-1] for row in plan])
        seen.clear()

    assert ["SCAN label" in plan for plan in plans] == [True, False]
    assert known_tables(database) == {"message", "record_stamp"}


def test_small_tables_and_those_of_a_server_are_left_alone(database, workspace):
    make_messages(database, workspace, make_contact(database, workspace), 3)

    assert refresh_statistics(database) == []


def known_rows(database):
    """How many rows PostgreSQL takes the table of messages for, in all its partitions; 0 if it has never looked."""
    with database.reading() as tx:
        return tx.execute(text(f"SELECT sum(greatest(reltuples, 0)) {OF_MESSAGES}")).scalar_one()


def count_at_once(database):
    """PostgreSQL counts what a connection did about a second later, if it is not asked to."""
    with database.writing() as tx:
        tx.execute(text("SELECT pg_stat_force_next_flush()"))


@pytest.fixture
def unknown_messages(database):
    """The table of messages, as if nobody had filled it before, which only a test looks at."""
    with unknown_table(database, "message"):
        yield


@pytest.mark.usefixtures("unknown_messages")
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_the_worker_lets_postgresql_know_a_table_that_was_filled_and_again_when_it_has_ten_times_as_many_rows(
    runtime, database, workspace, monkeypatch
):
    monkeypatch.setattr(persistence.sql.statistics, "LEARNED_ROWS", 20)
    contact = make_contact(database, workspace)
    step = begin_learning(runtime)
    found = []
    for number in (20, 150, 40):
        make_messages(database, workspace, contact, number)
        count_at_once(database)
        found.append((step(), known_rows(database)))

    assert found == [(False, 20), (False, 20), (False, 210)]
    assert learn_filled_tables(database) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_file_is_left_to_the_hourly_look(database, workspace, monkeypatch):
    monkeypatch.setattr(persistence.sql.statistics, "LEARNED_ROWS", 1)

    assert learn_filled_tables(database) == []
