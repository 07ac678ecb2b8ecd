from datetime import UTC, datetime
from decimal import Decimal

import pytest

from flows.environment import Environment
from flows.expressions import conversions
from flows.expressions.conversions import read_json, render, render_json
from flows.expressions.evaluation import Evaluation, ExpressionError
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


def test_json_becomes_values_with_decimal_numbers():
    value = read_json('{"a": [1.10, -2E3, null, false, "x"], "b": {}}')
    assert render(value) == "{a: [1.1, -2000, , false, x], b: {}}"


def test_a_default_property_becomes_the_default():
    value = read_json('{"__default__": "Ann", "age": 5}')
    assert isinstance(value, XObject)
    assert (render(value), render_json(value), len(value)) == ("Ann", '{"age":5}', 1)


def test_a_number_out_of_range_is_an_error_in_its_place():
    value = read_json('{"big": 1e200, "ok": 1e100}')
    assert isinstance(value, XObject)
    assert value.get("big") == XError("number value out of range")
    assert value.get("ok") == Decimal("1E100")


def test_half_characters_are_replaced_and_nulls_dropped():
    assert read_json('{"a\\u0000": "b\\u0000c"}').get("a") == "bc"
    assert read_json('"a\\ud800"') == "a\ufffd"
    assert read_json('"\\ud83d\\ude00"') == "😀"


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nul", "Infinity", "-Infinity", "'x'", "1 2"])
def test_anything_else_is_refused(text):
    with pytest.raises(ExpressionError, match="invalid JSON"):
        read_json(text)


def test_nesting_is_limited_but_brackets_in_texts_do_not_count():
    assert render(read_json("[" * 100 + "]" * 100)) == "[" * 100 + "]" * 100
    with pytest.raises(ExpressionError, match="nesting too deep"):
        read_json("[" * 101 + "]" * 101)
    assert read_json('"' + "[" * 500 + '"') == "[" * 500
