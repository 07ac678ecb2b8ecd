from decimal import Decimal

import pytest

from tests.flows.expressions.evaluating import error_of, value_of


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"7" + "0.5"', "7.5"),
        ("0.1 + 0.2", "0.3"),
        ('" 5 " * 2', "10"),
        ("10 / 4", "2.5"),
        ("2 / 3", "0.6666666666666667"),
        ("-2 / 3", "-0.6666666666666667"),
        ("4 ^ 0.5", "2"),
        ("16 ^ 0.25", "2"),
        ("2 ^ -2", "0.25"),
        ("0 ^ 0", "1"),
        ('-"3"', "-3"),
        ("10 ^ 100", "1E100"),
    ],
)
def test_arithmetic_is_decimal(expression, expected):
    assert value_of(expression) == Decimal(expected)


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
    ],
)
def test_what_has_no_number_is_an_error(expression, reason):
    assert error_of(expression) == reason


def test_equality_compares_texts_and_order_compares_numbers():
    assert value_of('1.0 = "1"') is True
    assert value_of('"a" = "A"') is False
    assert value_of("true != 1") is True
    assert value_of('null = ""') is True
    assert value_of('"10" > 9') is True
    assert value_of("3 = 3 = true") is True


def test_concatenation_takes_anything_with_a_text():
    assert value_of('1.50 & null & true & array(1, "b") & object("k", 2)') == "1.5true[1, b]{k: 2}"


def test_an_object_stands_for_its_default():
    age = {"__default__": "42", "category": "Old"}
    assert value_of("age + 1", age=age) == Decimal(43)
    assert value_of('age & "!"', age=age) == "42!"
    assert value_of('age = "42"', age=age) is True
