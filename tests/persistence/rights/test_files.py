"""Which archived records are about a person, and what they keep of others."""

from typing import Any

import orjson
import pytest

from persistence.rights.files import is_about, without_address
from persistence.rights.needles import Person

MINE, MERGED, OTHERS = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "123")
PERSON = Person(1, 5, MINE, ("+250788000111", "amina"), merged=(MERGED,))


@pytest.mark.parametrize(
    ("record", "is_mine"),
    [
        ({"contact": {"uuid": MINE}}, True),
        ({"contact": {"uuid": MERGED}}, True),
        ({"contact": {"uuid": OTHERS}}, False),
        ({"contact": {"uuid": OTHERS}, "text": MINE}, False),
        ({"contact": None, "text": MINE}, False),
        ({"text": MERGED}, False),
        ({}, False),
    ],
)
def test_a_record_is_about_the_person_whose_contact_it_names(record: dict[str, Any], is_mine: bool) -> None:
    assert is_about(orjson.dumps(record), PERSON) is is_mine


@pytest.mark.parametrize(
    ("record", "kept"),
    [
        ({"urn": "tel:+250788000111", "text": "Hi"}, {"urn": None, "text": "Hi", "contact": {}}),
        (
            {"contact": {"uuid": OTHERS, "urn": "telegram:amina", "urn_display": "Amina"}, "urn": "tel:+1"},
            {"contact": {"uuid": OTHERS, "urn": None, "urn_display": None}, "urn": "tel:+1"},
        ),
    ],
)
def test_an_address_of_the_person_goes_from_the_records_of_others(record: dict[str, Any], kept: dict[str, Any]) -> None:
    assert orjson.loads(without_address(orjson.dumps(record) + b"\n", PERSON)) == kept


@pytest.mark.parametrize(
    "record",
    [
        {"contact": {"uuid": OTHERS, "urn": "tel:+250788000222"}, "text": "Hi"},
        {"contact": {"uuid": OTHERS, "urn": "tel:+250788000222"}, "text": "amina said +250788000111"},
        {"contact": {"uuid": OTHERS, "urn": None}, "text": "amina"},
        {"contact": {"uuid": OTHERS}, "urn": None, "text": "amina"},
        {"contact": {"uuid": OTHERS, "urn": "telegram:amina2"}},
    ],
)
def test_a_record_without_an_address_of_the_person_stays_as_it_is(record: dict[str, Any]) -> None:
    line = orjson.dumps(record) + b"\n"

    assert without_address(line, PERSON) == line
