from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from flows.expressions.conversions import render, render_json
from flows.expressions.evaluation import Budget, ExpressionError, ExpressionTooComplexError
from flows.expressions.functions.registry import find_function
from flows.expressions.values import XArray, XError, XObject, describe, to_value


@pytest.mark.parametrize(
    ("value", "text", "json_text"),
    [
        (None, "", "null"),
        ('say "hé"', 'say "hé"', '"say \\"hé\\""'),
        (Decimal("1E3"), "1000", "1000"),
        (Decimal("-0.500"), "-0.5", "-0.5"),
        (Decimal("-0"), "0", "0"),
        (True, "true", "true"),
        (date(33, 2, 1), "0033-02-01", '"0033-02-01"'),
        (time(4, 5, 6, 7), "04:05:06.000007", '"04:05:06.000007"'),
        (datetime(2020, 1, 2, 3, tzinfo=UTC), "2020-01-02T03:00:00.000000Z", '"2020-01-02T03:00:00.000000Z"'),
        (find_function("upper"), "upper", "null"),
        (XError("x"), "", "null"),
        (to_value({"b": [1, None], "a": "x"}), "{a: x, b: [1, ]}", '{"a":"x","b":[1,null]}'),
        (to_value({"__default__": "Ann", "age": 3}), "Ann", '{"age":3}'),
        (to_value([{"__default__": [1], "age": 3}]), "[[1]]", '[{"age":3}]'),
    ],
)
def test_values_have_a_text_and_a_json_form(value, text, json_text):
    assert render(value) == text
    assert render_json(value) == json_text


def test_offsets_are_hours_and_minutes():
    assert render(datetime(2020, 7, 1, tzinfo=ZoneInfo("Asia/Kolkata"))).endswith("+05:30")
    assert render(datetime(2020, 7, 1, tzinfo=timezone(-timedelta(hours=3, minutes=30)))).endswith("-03:30")


def test_deep_and_repeated_containers_end_in_an_error():
    deep = XArray([])
    for _ in range(150):
        deep = XArray([deep])
    with pytest.raises(ExpressionError, match="nesting too deep"):
        render(deep)
    wide = XArray(["x"])
    for _ in range(9):
        wide = XArray([wide] * 10)
    with pytest.raises(ExpressionTooComplexError):
        render_json(wide, Budget())


def test_values_are_described_in_a_few_words():
    assert describe(XArray([])) == "array"
    assert describe(XObject({})) == "object"
    assert describe("x" * 500) == '"' + "x" * 100 + '…"'


def test_plain_data_becomes_values():
    assert to_value(1.5) == Decimal("1.5")
    assert to_value(float("inf")) == XError("number value out of range")
    with pytest.raises(TypeError):
        to_value(object())
