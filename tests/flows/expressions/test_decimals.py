from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.expressions import decimals
from flows.expressions.evaluation import ExpressionError
from flows.numbers import render_decimal

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=10, min_value=-(10**20), max_value=10**20)


@pytest.mark.parametrize("text", ["0", "1E100", "-1E-100", "9" * 36, "9" * 36 + "0" * 60])
def test_numbers_within_the_range_are_accepted(text):
    assert decimals.check_range(Decimal(text)) == Decimal(text)


@pytest.mark.parametrize("text", ["1E101", "-2E100", "1E-101", "1" * 37, "NaN", "Infinity"])
def test_numbers_out_of_range_are_refused(text):
    with pytest.raises(ExpressionError, match="out of range"):
        decimals.check_range(Decimal(text))


@pytest.mark.parametrize(("text", "expected"), [(" -1.50 ", "-1.5"), (".5", "0.5"), ("007", "7")])
def test_texts_that_are_plain_numbers_are_read(text, expected):
    assert decimals.read_plain(text) == Decimal(expected)


@pytest.mark.parametrize("text", ["", "1.", "+1", "1e2", "1,000", "1 2", "٣", "-", "."])
def test_texts_that_are_not_plain_numbers_give_none(text):
    assert decimals.read_plain(text) is None


def test_integers_are_truncated_to_32_bits():
    assert decimals.truncate(Decimal("-2.9")) == -2
    assert decimals.truncate(Decimal(-(2**31))) == -(2**31)
    with pytest.raises(ExpressionError):
        decimals.truncate(Decimal(2**31))


@given(NUMBERS)
def test_rendered_numbers_read_back_as_themselves(number):
    assert decimals.read_plain(render_decimal(number)) == number


@given(NUMBERS, st.integers(-25, 25))
def test_rounding_is_within_half_a_unit(number, places):
    unit = Decimal(1).scaleb(-places)
    try:
        rounded = decimals.round_to(number, places)
    except ExpressionError:
        return
    assert abs(rounded - number) <= unit / 2 or places > 10
