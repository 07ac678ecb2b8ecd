from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.environment import Environment
from flows.queries import (
    Combination,
    Condition,
    FieldReference,
    ListResolver,
    NamedReference,
    QueryError,
    parse_query,
)

ENVIRONMENT = Environment(date_format="DD-MM-YYYY", default_country="RW")
RESOLVER = ListResolver.of(
    [
        FieldReference("age", "Age", "number"),
        FieldReference("dob", "Born", "datetime"),
        FieldReference("gender", "Gender", "text"),
        FieldReference("state", "State", "state"),
        FieldReference("language", "Mother tongue", "text"),
    ],
    [NamedReference("g-1", "Farmers")],
    [NamedReference("f-1", "Registration")],
)


def print_back(text: str, environment: Environment = ENVIRONMENT) -> str:
    return str(parse_query(text, environment, RESOLVER))


def find_error(text: str, environment: Environment = ENVIRONMENT) -> QueryError:
    with pytest.raises(QueryError) as raised:
        parse_query(text, environment, RESOLVER)
    return raised.value


def test_a_condition_keeps_its_property_operator_value_and_type():
    assert parse_query("Age >= 18", ENVIRONMENT, RESOLVER) == Condition("field", "age", ">=", "18", "number")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("name HAS bob", 'name ~ "bob"'),
        ("urns.tel = 0788", "urns.tel = 0788"),
        ("fields.language = en", 'fields.language = "en"'),
        ("dob = 27.01.2020", 'fields.dob = "27.01.2020"'),
    ],
)
def test_conditions_print_in_their_canonical_form(text, canonical):
    assert print_back(text) == canonical


@pytest.mark.parametrize(
    ("text", "code", "extra"),
    [
        ("tickets > 1e3", "invalid_number", {"value": "1e3"}),
        ("created_on > 31-02-2020", "invalid_date", {"value": "31-02-2020"}),
        ("status = dead", "invalid_status", {"value": "dead"}),
        ("language = xxxx", "invalid_language", {"value": "xxxx"}),
        ("group = Fishers", "invalid_group", {"value": "Fishers"}),
        ("flow = Quiz", "invalid_flow", {"value": "Quiz"}),
        ("history != Quiz", "invalid_flow", {"value": "Quiz"}),
        ("urn ~ 12", "invalid_partial_urn", {"min_value_length": "3"}),
        ("beers = 12", "unknown_property", {"property": "beers"}),
        ("urns.beers = 12", "unknown_property", {"property": "beers"}),
    ],
)
def test_conditions_that_make_no_sense_are_refused_with_a_code_and_its_parts(text, code, extra):
    error = find_error(text)

    assert (error.code, error.extra) == (code, extra)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "$", "name =", 'name = "x', "nam/e = 1", "name. = 1", ".name = 1", "(bob", "bob)", "and", "bob or"),
        *("= 1", "()", "name = = 1", "name = (bob)", "bob, ann", '"name" = bob', "is", "name = has"),
        *('name = "a\x00"', 'name = "\\\x00"', 'name = "\ud800"', "\x00"),
    ],
)
def test_broken_syntax_is_refused(text):
    assert find_error(text).code == "syntax"


def test_group_and_flow_names_ignore_case():
    assert print_back("group = FARMERS and flow = registration") == 'group = "FARMERS" AND flow = "registration"'


def test_without_resolver_fields_are_taken_on_trust():
    query = parse_query("beers > many and group = Anyone", ENVIRONMENT)

    assert str(query) == 'fields.beers > "many" AND group = "Anyone"'
    assert isinstance(query, Combination)
    assert query.children[0] == Condition("field", "beers", ">", "many", "unknown")


@pytest.mark.parametrize(
    "text",
    [
        'name = "' + "x" * 9_993 + '"',
        "name=x" + " OR name=x" * 250,
        "(" * 101 + "name=x" + ")" * 101,
        "(" * 9_000,
    ],
)
def test_queries_over_a_limit_are_too_complex(text):
    assert find_error(text).code == "too_complex"


@pytest.mark.parametrize(
    "text",
    ['name = "' + "é" * 9_991 + '"', "name=x" + " OR name=x" * 249, "(" * 100 + "name=x" + ")" * 100],
)
def test_queries_at_a_limit_are_fine(text):
    assert print_back(text)


class YearClock:
    def now(self) -> datetime:
        return datetime(2031, 1, 1, tzinfo=UTC)

    def random(self) -> Decimal:
        return Decimal(0)

    def uuid(self) -> str:
        return ""


def test_the_clock_that_decides_centuries_is_given():
    assert parse_query("dob = 01-02-30", ENVIRONMENT, RESOLVER, clock=YearClock())


PIECES = st.sampled_from(
    [
        "name",
        "age",
        "tel",
        "fields.",
        "=",
        "!=",
        "~",
        ">",
        "(",
        ")",
        '"',
        "\\",
        "AND",
        "or",
        "has",
        "0788",
        " ",
        "é",
        "'",
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join)))
def test_no_text_makes_the_parser_fail_otherwise_than_by_refusing(text):
    try:
        query = parse_query(text, ENVIRONMENT, RESOLVER)
    except QueryError:
        return
    assert parse_query(str(query), ENVIRONMENT, RESOLVER) == query


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("age >", 5),
        ("age > 18 and )", 13),
        ("name = amina §", 13),
        ("(name = amina", 13),
        ("name = amina and height > 3", 17),
        ("amina and age > old", 10),
    ],
)
def test_an_error_says_where_reading_stopped(text: str, position: int) -> None:
    with pytest.raises(QueryError) as raised:
        parse_query(text, resolver=RESOLVER)

    assert raised.value.position == position
