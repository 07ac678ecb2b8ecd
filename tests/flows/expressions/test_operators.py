from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from flows.expressions.functions.registry import find_function
from flows.expressions.operators import compare, equality_key
from flows.expressions.values import XError, to_value
from tests.flows.expressions.evaluating import error_of, value_of


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("1 / 0", "division by zero"),
        ("0 ^ -1", "division by zero"),
        ("(-4) ^ 0.5", "no real number is that power"),
        ("2 ^ 101", "exponent 101 is out of range"),
        ("3 ^ 99.5", "number value out of range"),
        ("10 ^ 99 * 100", "number value out of range"),
        ("0.1 ^ 60 * 0.1 ^ 60", "number value out of range"),
        ("1 + true", "unable to convert true to a number"),
        ("1 + array()", "unable to convert array to a number"),
        ('-"x"', 'unable to convert "x" to a number'),
        ('"+5" + 1', 'unable to convert "+5" to a number'),
        ('"5." + 1', 'unable to convert "5." to a number'),
        ('"1e3" + 1', 'unable to convert "1e3" to a number'),
        ("today() < today()", "unable to convert date to a number"),
        ('"a" < "b"', 'unable to convert "a" to a number'),
        ('has_date_lt("2020-01-01", "x")', 'error calling has_date_lt(...): unable to convert "x" to a date'),
    ],
)
def test_what_has_no_number_is_an_error(expression, reason):
    assert error_of(expression) == reason


def test_an_object_stands_for_its_default():
    age = {"__default__": "42", "category": "Old"}
    assert value_of("age + 1", age=age) == Decimal(43)
    assert value_of('age & "!"', age=age) == "42!"
    assert value_of('age = "42"', age=age) is True


NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
NOON_ELSEWHERE = NOON.astimezone(timezone(timedelta(hours=5)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Decimal("1.0"), Decimal(1)),
        (NOON, NOON_ELSEWHERE),
        (to_value({"a": [1, "x"]}), to_value({"a": [1, "x"]})),
        (to_value({"__default__": 1}), to_value({"__default__": 1})),
        (find_function("upper"), find_function("upper")),
        (XError("x"), XError("x")),
    ],
)
def test_values_of_one_type_and_content_are_equal(first, second):
    assert equality_key(first) == equality_key(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Decimal(1), True),
        (Decimal(1), "1"),
        (None, ""),
        (date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)),
        (to_value({"a": 1}), to_value({"a": 1, "b": None})),
        (to_value({"a": 1}), to_value({"__default__": 1, "a": 1})),
        (to_value([1]), to_value([1, 1])),
        (find_function("upper"), find_function("lower")),
    ],
)
def test_values_of_another_type_or_content_differ(first, second):
    assert equality_key(first) != equality_key(second)


def test_order_is_that_of_one_type_with_null_first():
    assert compare("a", "b") == -1
    assert compare("b", "B") == 1
    assert compare(None, False) == -1
    assert compare(NOON, NOON_ELSEWHERE) == 0
    with pytest.raises(TypeError):
        compare("1", Decimal(1))
    with pytest.raises(TypeError):
        compare(to_value([]), to_value([]))
