import pytest

from flows.environment import Environment, NumberFormat
from flows.expressions.evaluation import Resources
from flows.expressions.values import XError
from tests.flows.expressions.evaluating import error_of, text_of, value_of


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("mod(1, 0)", "division by zero"),
        ("round(1, 3000000000)", "number value 3000000000 is out of range for an integer"),
        ("max(1, null)", "unable to convert null to a number"),
    ],
)
def test_number_functions_refuse_invalid_arguments(expression, reason):
    assert error_of(expression).endswith(f": {reason}")


GERMAN = Environment(date_format="DD-MM-YYYY", number_format=NumberFormat(",", "."))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('format_urn("tel:+493012345678")', "030 12345678"),
        ('format_urn("telegram:********")', "********"),
        ("format_number(1234.5)", "1.234,5"),
        ("format_number(1234.565, 2)", "1.234,57"),
        ("format_number(1234, 2, false)", "1234,00"),
        ('format(array(1000.5, "x"))', "1.000,5, x"),
        ('format(object("a", 1, "b", array("x\\ny", 2)))', "a: 1\nb:\n  - x\n    y\n  - 2"),
    ],
)
def test_format_functions_give_their_documented_values(expression, expected):
    assert text_of(expression, GERMAN) == expected


def test_a_prompt_is_filled_with_its_arguments():
    resources = Resources(prompts={"sort": "Sort {{ .arg1 }} by {{.arg2}}"})
    assert value_of('prompt("sort", array(1, 2), "size")', resources=resources) == "Sort [1, 2] by size"
    assert value_of('prompt("sort", 1)', resources=resources) == "Sort 1 by <no value>"
    assert isinstance(value_of('prompt("other")', resources=resources), XError)
