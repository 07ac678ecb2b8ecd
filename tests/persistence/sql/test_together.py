"""Statements of a unit of work travel together, and mean the same as one after the other. Behind a pooler, where
settings travel, only the latter holds.
"""

import contextlib
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from psycopg2.extensions import TRANSACTION_STATUS_IDLE
from sqlalchemy import Integer, Text, column, select, table, text
from sqlalchemy.exc import IntegrityError, ProgrammingError

from persistence.database import Database, Transaction
from persistence.sql import fixed_statements
from persistence.sql.fixed_statements import Fixed, param

NOTE = table("note", column("id", Integer), column("word", Text))
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture
def notes(database: Database) -> Iterator[Database]:
    """A database with a table of notes."""
    with database.writing() as tx:
        tx.execute(text("create table note (id integer primary key, word text)"))
    count = len(fixed_statements.FIXED)
    yield database
    del fixed_statements.FIXED[count:]
    with database.writing() as tx:
        tx.execute(text("drop table note"))


@pytest.fixture
def storing() -> Fixed:
    statement = NOTE.insert().values(id=param("number"), word=param("word", Text))
    return Fixed(lambda _is_sqlite: statement)


def words(tx: Transaction) -> list[str]:
    return [word for (word,) in tx.execute(select(NOTE.c.word).order_by(NOTE.c.id))]


def stored(database: Database) -> list[str]:
    with database.reading() as tx:
        return words(tx)


def last_message(database: Database, tx: Transaction) -> str:
    """What the server of a unit of work got last."""
    driver = tx.connection.connection.dbapi_connection
    with database.reading() as other:
        asked = text("select query from pg_stat_activity where pid = :pid")
        found: str = other.execute(asked, {"pid": driver.info.backend_pid}).scalar_one()  # type: ignore[union-attr]
        return found


def test_what_is_run_later_is_seen_by_the_next_statement_and_stored(notes: Database, storing: Fixed) -> None:
    with notes.writing() as tx:
        storing.run_later(tx, {"number": 1, "word": "100 % quince"})
        storing.run_later(tx, {"number": 2, "word": "medlar; --"})
        assert words(tx) == ["100 % quince", "medlar; --"]
        storing.run_later(tx, {"number": 3, "word": "it's last"})

    assert stored(notes) == ["100 % quince", "medlar; --", "it's last"]


def test_what_is_run_later_stays_so_once_it_is_prepared(notes: Database, storing: Fixed) -> None:
    with notes.writing() as tx:
        for number in range(10):
            storing.run_later(tx, {"number": number, "word": str(number)})

    assert stored(notes) == [str(number) for number in range(10)]


def test_the_error_of_what_is_run_last_ends_the_unit_of_work(notes: Database, storing: Fixed) -> None:
    def work(tx: Transaction) -> None:
        storing.run(tx, {"number": 1, "word": "quince"})
        storing.run_later(tx, {"number": 1, "word": "medlar"})

    with pytest.raises(IntegrityError):
        notes.write(work)

    assert stored(notes) == []


def test_the_error_of_what_is_run_later_is_that_of_the_next_statement(notes: Database, storing: Fixed) -> None:
    def work(tx: Transaction) -> None:
        storing.run(tx, {"number": 1, "word": "quince"})
        storing.run_later(tx, {"number": 1, "word": "medlar"})
        words(tx)
        raise AssertionError("the next statement told nothing")

    with pytest.raises(IntegrityError):
        notes.write(work)

    assert stored(notes) == []


def test_what_waits_is_not_sent_if_the_unit_of_work_fails(notes: Database, storing: Fixed) -> None:
    with contextlib.suppress(KeyError), notes.writing() as tx:
        storing.run_later(tx, {"number": 1, "word": "quince"})
        raise KeyError("anything")

    assert stored(notes) == []


@pytest.mark.own_session
@on_postgresql
def test_a_unit_of_work_begins_with_its_first_statement(notes: Database, storing: Fixed) -> None:
    with notes.writing(is_repeated=True) as tx:
        tx.execute(text("select 1"))
        storing.run_later(tx, {"number": 1, "word": "quince"})

        assert last_message(notes, tx) == "BEGIN;select 1"


@pytest.mark.own_session
@on_postgresql
def test_what_is_run_last_is_sent_with_the_commit(notes: Database, storing: Fixed) -> None:
    with notes.engine.connect() as other:  # so that the unit of work has another connection than who looks at it
        with notes.writing() as tx:
            driver = tx.connection.connection.dbapi_connection
            storing.run(tx, {"number": 1, "word": "quince"})
            storing.run_later(tx, {"number": 2, "word": "medlar"})
        asked = text("select query from pg_stat_activity where pid = :pid")
        message = other.execute(asked, {"pid": driver.info.backend_pid}).scalar_one()  # type: ignore[union-attr]

    assert "INSERT INTO note" in message and "medlar" in message and message.endswith(";COMMIT")


@pytest.mark.own_session
@on_postgresql
def test_a_message_that_the_server_does_not_understand_leaves_nothing_outside_of_the_transaction(
    notes: Database, storing: Fixed
) -> None:
    with contextlib.suppress(KeyError), notes.writing() as tx:
        with pytest.raises(ProgrammingError):
            tx.execute(text("selec 1"))
        storing.run(tx, {"number": 1, "word": "quince"})
        raise KeyError("anything")

    assert stored(notes) == []


@on_postgresql
def test_other_ways_of_sending_are_part_of_the_transaction(notes: Database, storing: Fixed) -> None:
    with contextlib.suppress(KeyError), notes.writing() as tx:
        storing.run_later(tx, {"number": 1, "word": "quince"})
        tx.connection.connection.cursor().copy_from(StringIO("2\tmedlar\n"), "note")
        assert words(tx) == ["quince", "medlar"]
        raise KeyError("anything")

    assert stored(notes) == []


@on_postgresql
@pytest.mark.parametrize("fails", [False, True])
def test_a_connection_is_as_before_after_a_unit_of_work(notes: Database, storing: Fixed, fails: bool) -> None:
    with contextlib.suppress(KeyError), notes.writing() as tx:
        storing.run(tx, {"number": 1, "word": "quince"})
        if fails:
            raise KeyError("anything")

    with notes.engine.connect() as connection:
        driver: Any = connection.connection.dbapi_connection
        # Behind a pooler the engine begins all transactions, the driver none.
        assert driver.autocommit is notes.is_behind_pooler
        assert driver.cursor_factory is None
        assert driver.info.transaction_status == TRANSACTION_STATUS_IDLE
        assert connection.execute(select(NOTE.c.id)).all() == ([] if fails else [(1,)])
