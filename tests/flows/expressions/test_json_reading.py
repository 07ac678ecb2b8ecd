from decimal import Decimal

import pytest

from flows.expressions.errors import ExpressionError
from flows.expressions.json_reading import read_json
from flows.expressions.rendering import render, render_json
from flows.expressions.values import XError, XObject


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
