from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.environment import Environment, NumberFormat
from flows.numbers import NumberError, find_numbers, format_number, parse_decimal, render_decimal

COMMAS = NumberFormat(",", ".")


@pytest.mark.parametrize(
    ("text", "number"), [("1", "1"), (" -1.50 ", "-1.5"), (".5", "0.5"), ("1" + "0" * 100, "1E100"), ("007", "7")]
)
def test_plain_numbers_are_read(text, number):
    assert parse_decimal(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "x", "+1", "1.", "1e5", "1,000", "1 000", "--1", "١", "1" + "0" * 101, "1" * 37])
def test_what_is_not_plainly_a_number_in_range_is_refused(text):
    with pytest.raises(NumberError):
        parse_decimal(text)


@pytest.mark.parametrize(("text", "number"), [("1.234,5", "1234.5"), ("١٢٣", "123"), ("-1.000", "-1000")])
def test_a_number_format_has_symbols_of_its_own_and_digits_of_any_script(text, number):
    assert parse_decimal(text, COMMAS) == Decimal(number)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1-15", ["1", "-15"]),
        ("24ans", ["24"]),
        ("hi.51", ["51"]),
        ("hi .51", ["0.51"]),
        ("1,000,000", ["1000000"]),
        ("lOO", []),
        ("+5", ["5"]),
        (", and 7", ["7"]),
        ("206 555 1212", ["206", "555", "1212"]),
        ("২.৫ kg", ["2.5"]),
    ],
)
def test_numbers_are_found_in_text(text, numbers):
    assert list(find_numbers(Environment(), text)) == [Decimal(number) for number in numbers]


def test_without_a_decimal_symbol_numbers_may_be_unreadable_but_never_an_error():
    assert list(find_numbers(Environment(number_format=NumberFormat("", ",")), "i have 1,234 apples")) == []


def test_without_a_grouping_symbol_digits_stand_together():
    assert list(find_numbers(Environment(number_format=NumberFormat(".", "")), "234.5")) == [Decimal("234.5")]


@given(st.text(), st.sampled_from([NumberFormat(), COMMAS, NumberFormat("", ""), NumberFormat("*", "[")]))
def test_any_text_is_searched_without_failing(text, number_format):
    assert all(number.is_finite() for number in find_numbers(Environment(number_format=number_format), text))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20))
def test_a_rendered_number_reads_as_itself(number):
    assert parse_decimal(render_decimal(number)) == number


@pytest.mark.parametrize(("number", "text"), [("1.500", "1.5"), ("1E3", "1000"), ("-0.0", "0"), ("1E-7", "0.0000001")])
def test_numbers_are_rendered_without_exponent_and_needless_zeros(number, text):
    assert render_decimal(Decimal(number)) == text


@pytest.mark.parametrize(
    ("number", "places", "is_grouped", "text"),
    [
        ("1234.567", None, True, "1,234.567"),
        ("1234.567", 5, False, "1234.56700"),
        ("1234.5", 0, True, "1,235"),
        ("-1234", None, True, "-1,234"),
        ("-0.001", 1, True, "0.0"),
        ("0", None, True, "0"),
        ("1E25", None, True, "10,000,000,000,000,000,000,000,000"),
    ],
)
def test_numbers_are_written_with_places_and_groups(number, places, is_grouped, text):
    assert format_number(Decimal(number), NumberFormat(), places, is_grouped) == text


def test_numbers_are_written_with_the_symbols_of_the_workspace():
    assert format_number(Decimal("1234567.5"), COMMAS) == "1.234.567,5"


POINT, COMMA, SPACE, APOSTROPHE = (
    NumberFormat(".", ","),
    NumberFormat(",", "."),
    NumberFormat(",", " "),
    NumberFormat(".", "'"),
)


@pytest.mark.parametrize(
    ("text", "number_format", "number"),
    [
        ("27.5", POINT, "27.5"),
        ("27,5", POINT, None),
        ("12,34", POINT, None),
        ("1,2345", POINT, None),
        ("1,00,000", POINT, None),
        ("0,123", POINT, None),
        ("1,234", POINT, "1234"),
        ("1,234,567.8", POINT, "1234567.8"),
        ("1.234,5", POINT, None),
        ("1.234.567", POINT, None),
        ("1 234", POINT, None),
        ("1 234,5", POINT, None),
        ("1 234,5", COMMA, None),
        ("12,34,567", COMMA, None),
        ("1,00,000", SPACE, None),
        ("27,5", COMMA, "27.5"),
        ("1.234,5", COMMA, "1234.5"),
        ("1.234", COMMA, "1234"),
        ("27.5", COMMA, None),
        ("1,234.5", COMMA, None),
        ("1 234,5", SPACE, "1234.5"),
        ("1\u202f234\u00a0567,8", SPACE, "1234567.8"),
        ("1.234,5", SPACE, None),
        ("1’234.5", APOSTROPHE, "1234.5"),
        ("1'23.5", APOSTROPHE, None),
        ("٢٧٫٥", POINT, "27.5"),
        ("١٬٢٣٤٫٥", COMMA, "1234.5"),
        ("−１２．５", POINT, "-12.5"),
        ("२७.५", POINT, "27.5"),
        ("𞥑𞥒", POINT, "12"),
        ("20²", POINT, None),
    ],
)
def test_what_cannot_be_a_number_in_the_format_is_none(text, number_format, number):
    wanted = [] if number is None else [Decimal(number)]
    if number is None:
        with pytest.raises(NumberError):
            parse_decimal(text, number_format)
    else:
        assert parse_decimal(text, number_format) == wanted[0]
    if "²" not in text:
        assert list(find_numbers(Environment(number_format=number_format), f"about {text} kg")) == wanted
