from datetime import UTC, datetime
from decimal import Decimal

import pytest

from flows.environment import Environment
from flows.expressions import conversions
from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.values import XError, XObject, to_value

EVALUATION = Evaluation(Environment(timezone="Asia/Tokyo"))
AGE = to_value({"__default__": "42", "x": 1})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, False),
        ("", False),
        ("FALSE", False),
        (" ", True),
        ("0", True),
        (Decimal(0), False),
        (Decimal("0.1"), True),
        (to_value([]), False),
        (to_value([0]), True),
        (to_value({}), False),
        (to_value({"a": None}), True),
        (to_value({"a": 1, "__default__": ""}), False),
        (XError("x"), False),
    ],
)
def test_each_value_counts_as_true_or_false(value, expected):
    assert conversions.is_truthy(value) is expected


def test_an_object_stands_for_its_default_but_stays_an_object():
    assert conversions.to_number(EVALUATION, AGE) == Decimal(42)
    assert conversions.to_text(EVALUATION, AGE) == "42"
    assert conversions.to_object(EVALUATION, AGE) is AGE
    nested = XObject({}, default=XObject({}, default=Decimal(3)))
    assert conversions.to_integer(EVALUATION, nested) == 3


def test_null_has_an_empty_text_array_and_object_but_no_number_or_date():
    assert conversions.to_text(EVALUATION, None) == ""
    assert len(conversions.to_array(EVALUATION, None)) == 0
    assert len(conversions.to_object(EVALUATION, None)) == 0
    for convert in (conversions.to_number, conversions.to_date, conversions.to_time, conversions.to_function):
        with pytest.raises(ExpressionError, match="unable to convert null to a"):
            convert(EVALUATION, None)


def test_an_error_is_raised_as_what_it_is_by_every_conversion():
    for name in (
        "any",
        "text",
        "number",
        "integer",
        "boolean",
        "date",
        "datetime",
        "time",
        "array",
        "object",
        "function",
    ):
        with pytest.raises(ExpressionError, match=r"^broken$"):
            getattr(conversions, f"to_{name}")(EVALUATION, XError("broken"))


def test_the_ends_of_the_calendar_are_errors_in_other_timezones():
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    with pytest.raises(ExpressionError, match="out of range"):
        conversions.to_date(EVALUATION, last)
