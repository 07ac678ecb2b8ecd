"""Checksums of tables: what is the same row in both databases."""

from typing import Any

import pytest
from sqlalchemy import JSON, Column, Float, Integer, MetaData, String, Table

from persistence.backups.checksums import Checksum, _sum
from persistence.sql.columns import JsonIndexed

METADATA = MetaData()
PLAIN = Table("plain", METADATA, Column("id", Integer), Column("name", String), Column("extra", JSON))
MEASURED = Table("measured", METADATA, Column("id", Integer), Column("level", Float))
DOCUMENTS = Table("documents", METADATA, Column("id", Integer), Column("fields", JsonIndexed))


def total(table: Table, *rows: tuple[Any, ...]) -> Checksum:
    return _sum(table, rows)


@pytest.mark.parametrize(
    ("table", "one", "other", "is_same"),
    [
        (PLAIN, 'a {"b": 1}', 'a {"b": 2}', False),
        (PLAIN, None, "", False),
        (PLAIN, "a", "a", True),
        (MEASURED, 2, 2.0, True),
        (MEASURED, 2.0, 2.5, False),
        (MEASURED, None, None, True),
        (MEASURED, None, 0.0, False),
        (DOCUMENTS, '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', True),
        (DOCUMENTS, '{"a": 1.50}', '{"a": 1.5}', True),
        (DOCUMENTS, '{"a": 1.0}', '{"a": 1}', True),
        (DOCUMENTS, '{"a": "1.0"}', '{"a": "1"}', False),
        (DOCUMENTS, '{"a": [1, 2]}', '{"a": [2, 1]}', False),
        (DOCUMENTS, None, None, True),
        (DOCUMENTS, None, "null", False),
    ],
)
def test_a_row_is_the_same_without_what_a_database_does_not_keep(
    table: Table, one: Any, other: Any, is_same: bool
) -> None:
    wide = (None,) if table is PLAIN else ()

    assert (total(table, (1, one, *wide)) == total(table, (1, other, *wide))) is is_same


def test_the_order_of_rows_does_not_count_but_their_number_does() -> None:
    first, second = (1, "a", None), (2, "b", None)

    assert total(PLAIN, first, second) == total(PLAIN, second, first)
    assert total(PLAIN, first, second).rows == 2
    assert total(PLAIN, first) != total(PLAIN, first, first)
    assert total(PLAIN) == Checksum(0, 0)
