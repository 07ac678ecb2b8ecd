from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from flows.expressions.comparison import compare, equality_key
from flows.expressions.functions import find_function
from flows.expressions.values import XError, to_value

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
