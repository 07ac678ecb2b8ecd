"""Tracebacks of database errors contain no values, all others are complete."""

import pytest
from sqlalchemy import text

from persistence.database import Database
from relayboard.base.logs import format_traceback

INSERT = text("insert into fruit (name, color) values (:name, :color)")


@pytest.fixture
def fruit(database: Database) -> Database:
    with database.writing() as tx:
        tx.execute(text("create table fruit (name text unique, color text not null, weight integer)"))
        tx.execute(INSERT, {"name": "quince", "color": "yellow"})
    return database


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (INSERT, {"name": "quince", "color": "green"}),
        (INSERT, {"name": "quince\n\nyellow", "color": None}),
        (text("select missing from fruit where name = :name"), {"name": "quince"}),
        (text("insert into fruit (color, weight) values (:name, :name, :name)"), {"name": "quince"}),
    ],
    ids=["unique", "not null", "unknown column", "wrong count"],
)
def test_values_of_a_statement_that_failed_are_not_shown(fruit, statement, values):
    with pytest.raises(LookupError) as failed:
        store(fruit, statement, values)

    shown = format_traceback(failed.value)

    assert "quince" not in shown and "yellow" not in shown
    assert "sqlalchemy.exc." in shown and "[SQL: " in shown
    assert "in store" in shown
    assert shown.endswith("LookupError: nothing stored")


def store(database: Database, statement: object, values: object) -> None:
    try:
        with database.writing() as tx:
            tx.execute(statement, values)
    except Exception as error:
        raise LookupError("nothing stored") from error


def test_other_exceptions_are_shown_as_python_shows_them():
    try:
        [][1]
    except IndexError as error:
        shown = format_traceback(error)

    assert shown.startswith("Traceback (most recent call last):") and shown.endswith("list index out of range")
