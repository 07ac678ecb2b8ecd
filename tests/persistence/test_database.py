"""What the database layer tells about its failures."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError


def test_an_error_does_not_list_the_values_of_its_statement(database):
    with database.reading() as tx, pytest.raises(SQLAlchemyError) as failed:
        tx.execute(text("select missing from nowhere limit :word"), {"word": "quince"})

    assert "parameters: {" not in str(failed.value) and "hide_parameters=True" in str(failed.value)
