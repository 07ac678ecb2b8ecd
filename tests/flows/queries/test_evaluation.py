from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.environment import Environment
from flows.queries import (
    FieldReference,
    ListResolver,
    NamedReference,
    PropertyKind,
    QueryError,
    QueryValue,
    evaluate,
    parse_query,
)
from flows.queries.resolver import ATTRIBUTES

ENVIRONMENT = Environment(timezone="America/New_York")
RESOLVER = ListResolver.of(
    [
        FieldReference("age", "Age", "number"),
        FieldReference("dob", "Born", "datetime"),
        FieldReference("gender", "Gender", "text"),
        FieldReference("state", "State", "state"),
        FieldReference("nothing", "Nothing", "text"),
    ],
    [NamedReference("g-1", "Farmers"), NamedReference("g-2", "Fishers")],
    [NamedReference("f-1", "Registration")],
)
VALUES: dict[tuple[str, str], list[QueryValue]] = {
    ("attribute", "name"): ["Robert O'Reilly-Smith"],
    ("attribute", "status"): ["active"],
    ("attribute", "tickets"): [2],
    ("attribute", "urn"): ["+250788383383", "bobby_s"],
    ("attribute", "group"): ["Farmers"],
    ("attribute", "created_on"): [datetime(2018, 6, 24, 3, 59, 59, tzinfo=UTC)],
    ("scheme", "tel"): ["+250788383383"],
    ("scheme", "twitter"): ["bobby_s"],
    ("field", "age"): [Decimal("36.50")],
    ("field", "dob"): [datetime(1981, 5, 28, 13, 30, tzinfo=UTC)],
    ("field", "gender"): [" Male "],
    ("field", "state"): ["Rwanda > Kigali City"],
    ("field", "nothing"): [""],
}


class Contact:
    def query_values(self, kind: PropertyKind, key: str) -> Sequence[QueryValue]:
        return VALUES.get((kind, key), [])


def decide(text: str) -> bool:
    return evaluate(parse_query(text, ENVIRONMENT, RESOLVER), Contact(), ENVIRONMENT)


@pytest.mark.parametrize(
    ("text", "matches"),
    [('nothing = ""', True), ("nothing != x", True), ('nothing != ""', False), ("nothing = x", False)],
)
def test_a_field_with_an_empty_text_is_not_set(text, matches):
    assert decide(text) is matches


def test_words_of_names_are_compared_by_their_first_eight_letters():
    class Longname:
        def query_values(self, kind: PropertyKind, key: str) -> Sequence[QueryValue]:
            return ["Wolfeschlegelstein"]

    query = parse_query("name ~ wolfeschlagel", ENVIRONMENT, RESOLVER)

    assert evaluate(query, Longname(), ENVIRONMENT)


def test_a_day_lasts_24_hours_from_its_local_midnight():
    class Seen:
        def query_values(self, kind: PropertyKind, key: str) -> Sequence[QueryValue]:
            return [datetime(2021, 3, 15, 4, 30, tzinfo=UTC)]

    query = parse_query("created_on = 2021-03-14", ENVIRONMENT, RESOLVER)

    assert evaluate(query, Seen(), ENVIRONMENT), "clocks went forward on that day, so it ends at one o'clock"


def test_a_query_without_conditions_matches_everybody():
    assert evaluate(None, Contact(), ENVIRONMENT)


def test_fields_taken_on_trust_are_compared_by_what_their_values_are():
    query = parse_query("age > 30 AND gender = male AND dob < 2000-01-01", ENVIRONMENT)

    assert evaluate(query, Contact(), ENVIRONMENT)


@pytest.mark.parametrize(
    ("text", "code"),
    [("age > many", "invalid_number"), ("dob > soon", "invalid_date"), ("gender > m", "unsupported_comparison")],
)
def test_trust_that_was_misplaced_shows_when_a_query_is_evaluated(text, code):
    query = parse_query(text, ENVIRONMENT)

    with pytest.raises(QueryError) as raised:
        evaluate(query, Contact(), ENVIRONMENT)
    assert raised.value.code == code


OPERANDS = st.sampled_from(
    ["36.5", "1981-05-28", "bob", "0788", "active", "eng", "Farmers", "Registration", '""', "9999-12-31"]
)
CONDITIONS = st.tuples(
    st.sampled_from([*ATTRIBUTES, "tel", "twitter", "age", "dob", "gender", "state"]),
    st.sampled_from(["=", "!=", "~", ">", ">=", "<", "<="]),
    OPERANDS,
).map(" ".join)


@given(st.lists(CONDITIONS, min_size=1, max_size=3).map(" OR ".join))
def test_whatever_was_read_with_a_resolver_can_be_decided(text):
    try:
        query = parse_query(text, ENVIRONMENT, RESOLVER)
    except QueryError:
        return
    assert evaluate(query, Contact(), ENVIRONMENT) in (True, False)


@pytest.mark.parametrize("key", ["name", "language", "urn", "group", "tel", "viber", "age", "dob", "gender", "state"])
@given(OPERANDS)
def test_not_equal_is_the_opposite_of_equal(key, value):
    try:
        is_equal = decide(f"{key} = {value}")
    except QueryError:
        return
    assert decide(f"{key} != {value}") is not is_equal
