"""Ids as requests give them."""

import pytest

from persistence.sql.columns import NO_ID, read_id


@pytest.mark.parametrize(
    ("given", "read"),
    [(1, 1), ("7", 7), (2**63 - 1, 2**63 - 1), (str(2**63 - 1), 2**63 - 1), (2**63, NO_ID), (10**30, NO_ID)],
)
def test_a_number_that_no_column_holds_is_no_id(given: int | str, read: int) -> None:
    assert read_id(given) == read
