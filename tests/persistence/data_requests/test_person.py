"""A number is found as people write it, and never inside a longer one."""

import pytest
from sqlalchemy import literal, select

from persistence.data_requests.person import make_terms
from persistence.database import Database

RWANDAN, DANISH, ARGENTINIAN = "+250788314159", "+4531415926", "+5491131415926"

WRITTEN = [
    (RWANDAN, "+250788314159"),
    (RWANDAN, "250788314159"),
    (RWANDAN, "00250788314159"),
    (RWANDAN, "0788314159"),
    (RWANDAN, "0788 314 159"),
    (RWANDAN, "0788-314-159"),
    (RWANDAN, "078.831.4159"),
    (RWANDAN, "(0788) 314159"),
    (RWANDAN, "+250 788 314 159"),
    (RWANDAN, "+250 (0)788 314 159"),
    (RWANDAN, "tel:+250788314159"),
    (RWANDAN, "her number,0788314159."),
    (RWANDAN, "bed 5 0788314159"),
    (RWANDAN, "0788000111/0788314159"),
    (RWANDAN, "0788314159 0788000111"),
    (DANISH, "31 41 59 26"),
    (DANISH, "+45 31415926"),
    (ARGENTINIAN, "+54 9 11 3141-5926"),
    (ARGENTINIAN, "011 15-3141-5926"),
]
OTHERS = [
    (RWANDAN, "2507883141590"),
    (RWANDAN, "1250788314159"),
    (RWANDAN, "00788314159"),
    (RWANDAN, "0788 314 159 2"),
    (RWANDAN, "1 0788 314 159"),
    (RWANDAN, "1-0788314159"),
    (RWANDAN, "0788314159.26"),
    (RWANDAN, "+39 0788314159"),
    (RWANDAN, "0039 0788 314 159"),
    (RWANDAN, "0788, 314, 159"),
    (RWANDAN, "0788000111"),
    (RWANDAN, ""),
    (DANISH, "+47 31415926"),
    (DANISH, "131415926"),
]


@pytest.mark.together
@pytest.mark.parametrize(("number", "text"), WRITTEN)
def test_a_number_is_found_in_every_form(database: Database, number: str, text: str) -> None:
    assert (make_terms((number,), ()).are_in(text), may_be_in(database, number, text)) == (True, True)


@pytest.mark.parametrize(("number", "text"), OTHERS)
def test_a_longer_number_and_one_of_another_country_are_not_this_one(number: str, text: str) -> None:
    assert not make_terms((number,), ()).are_in(text)


def test_the_database_leaves_out_texts_without_the_last_digits(database: Database) -> None:
    assert not may_be_in(database, RWANDAN, "0788 000 111, in 2026-11-26")


def may_be_in(database: Database, number: str, text: str) -> bool:
    (condition,) = make_terms((number,), ()).may_be_in(literal(text))
    with database.reading() as tx:
        return bool(tx.execute(select(condition)).scalar_one())


@pytest.mark.parametrize(("text", "is_found"), [("id 123456789", True), ("1234567890", False), ("0123456789", False)])
def test_an_address_of_digits_is_not_found_in_longer_ones(text: str, is_found: bool) -> None:
    assert make_terms((), ("123456789",)).are_in(text) is is_found
