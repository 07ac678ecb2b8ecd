"""What revisions do to large tables while others work with them."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from persistence.database import Database
from persistence.migrations.large_tables import (
    add_checked_constraint,
    add_index,
    change_in_batches,
    remove_index,
)
from persistence.migrations.part_indexes import taking_turns
from relayboard.base.progress import listening
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until

ROWS = 25
pytestmark = pytest.mark.own_session


@pytest.fixture
def large(database: Database) -> Database:
    with database.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE large (id INTEGER PRIMARY KEY, number INTEGER, parent INTEGER)")
        rows = [{"id": 3 * number} for number in range(1, ROWS + 1)]
        connection.execute(text("INSERT INTO large (id, number) VALUES (:id, 0)"), rows)
    return database


def as_revision(database: Database, work: Callable[[], Any]) -> None:
    """Does the work as a revision does it."""
    with taking_turns(database.engine) as connection:
        options = {"transactional_ddl": True, "transaction_per_migration": not database.sqlite}
        context = MigrationContext.configure(connection, opts=options)
        with Operations.context(context), context.begin_transaction(_per_migration=True):
            work()


def index_names(database: Database) -> set[str | None]:
    return {each["name"] for each in inspect(database.engine).get_indexes("large")}


def numbers(database: Database) -> list[int]:
    with database.reading() as tx:
        return [number for (number,) in tx.execute(text("SELECT number FROM large ORDER BY id"))]


def test_an_index_is_made_and_dropped_and_both_may_be_done_again(large: Database) -> None:
    for _ in range(2):
        as_revision(large, lambda: add_index("ix_large_number", "large", ["number"], where="number > 3"))
        assert index_names(large) == {"ix_large_number"}
    for _ in range(2):
        as_revision(large, lambda: remove_index("ix_large_number", "large"))
        assert index_names(large) == set()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_rows_are_written_while_an_index_is_made(large: Database) -> None:
    making = threading.Thread(target=as_revision, args=(large, lambda: add_index("ix_large", "large", ["number"])))
    with large.engine.connect() as writer:
        writer.execute(text("UPDATE large SET number = 1 WHERE id = 3"))
        making.start()
        wait_until(lambda: is_waiting(large), "the index to wait for the writer")
        with large.engine.begin() as other:
            other.execute(text("SET LOCAL lock_timeout = '5s'"))
            other.execute(text("UPDATE large SET number = 2 WHERE id = 6"))
        assert making.is_alive()
        writer.commit()
    making.join(PATIENCE_SECONDS)

    assert index_names(large) == {"ix_large"}
    assert sorted(numbers(large))[-2:] == [1, 2]


def is_waiting(database: Database) -> bool:
    waiting = "select count(*) from pg_stat_activity where query like 'CREATE INDEX%' and wait_event_type = 'Lock'"
    with database.reading() as tx:
        return bool(tx.execute(text(waiting)).scalar_one())


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_an_index_that_was_left_half_made_is_made_anew(large: Database) -> None:
    with pytest.raises(DBAPIError):
        as_revision(large, lambda: add_index("ix_large", "large", ["number"], unique=True))
    assert index_names(large) == {"ix_large"}  # there, and not valid

    with large.engine.begin() as connection:
        connection.execute(text("UPDATE large SET number = id"))
    as_revision(large, lambda: add_index("ix_large", "large", ["number"], unique=True))

    with large.reading() as tx:
        valid = "select indisvalid from pg_index where indexrelid = 'ix_large'::regclass"
        assert tx.execute(text(valid)).scalar_one() is True


def test_batches_reach_each_row_once_though_one_was_cut_off(large: Database) -> None:
    once_more = "UPDATE large SET number = number + 1 WHERE id > :after AND id <= :upto"
    failing = f"{once_more} AND 1 / (id - 36) IS NOT NULL"
    if large.sqlite:  # where dividing by nothing is no error: this fails by a type instead
        failing = f"{once_more} AND json(CASE id WHEN 36 THEN 'no' ELSE '1' END) IS NOT NULL"

    with pytest.raises(DBAPIError):
        as_revision(large, lambda: change_in_batches("add one", "large", failing, batch=10))
    done = 0 if large.sqlite else 10  # a revision is one transaction there
    assert numbers(large) == [1] * done + [0] * (ROWS - done)

    told: list[tuple[str, int, int]] = []
    with listening(lambda *each: told.append(each)):
        as_revision(large, lambda: change_in_batches("add one", "large", once_more, batch=10))
    assert told and all(0 < done <= total for _, done, total in told) and told[-1][1] == told[-1][2]

    assert numbers(large) == [1] * ROWS
    assert "migration_bookmark" not in inspect(large.engine).get_table_names()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_constraint_holds_for_new_rows_at_once_and_then_for_all(large: Database) -> None:
    def add() -> None:
        add_checked_constraint("large", "fk_large_parent", "FOREIGN KEY (parent) REFERENCES large (id)")

    with large.engine.begin() as connection:
        connection.execute(text("UPDATE large SET parent = 1 WHERE id = 3"))
    with pytest.raises(DBAPIError):
        as_revision(large, add)
    with pytest.raises(DBAPIError), large.engine.begin() as connection:
        connection.execute(text("UPDATE large SET parent = 1 WHERE id = 6"))

    with large.engine.begin() as connection:
        connection.execute(text("UPDATE large SET parent = 6 WHERE id = 3"))
    for _ in range(2):
        as_revision(large, add)

    with large.reading() as tx:
        valid = "select convalidated from pg_constraint where conname = 'fk_large_parent'"
        assert tx.execute(text(valid)).scalar_one() is True


def test_the_connection_of_migrations_waits_as_long_as_it_takes(database_url: str) -> None:
    hurried = Database(database_url, statement_timeout_seconds=1)

    with taking_turns(hurried.engine) as connection:
        if hurried.sqlite:
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() > 10**9
        else:
            connection.execute(text("select pg_sleep(1.5)"))
            shown = [connection.execute(text(f"show {name}_timeout")).scalar_one() for name in ("statement", "lock")]
            assert shown == ["0", "0"]
    hurried.close()
