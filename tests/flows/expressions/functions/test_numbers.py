import pytest

from flows.environment import Environment, NumberFormat
from flows.expressions.evaluation import Resources
from flows.expressions.values import XError
from tests.flows.expressions.evaluating import error_of, text_of, value_of


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("abs(-1.5)", "1.5"),
        ('max(1, "3", 2)', "3"),
        ("min(1, -3, 2)", "-3"),
        ("mean(1, 2, 2)", "1.6666666666666667"),
        ("mod(-7, 3)", "-1"),
        ("mod(7.5, -2)", "1.5"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(1234, -2)", "1200"),
        ("round(5, -100000)", "0"),
        ("round_up(-1.21, 1)", "-1.2"),
        ("round_up(1.21, 1)", "1.3"),
        ("round_up(1, -1)", "10"),
        ("round_down(-1.21, 1)", "-1.3"),
        ("rand()", "0.25"),
        ("rand_between(1, 8)", "3"),
        ("rand_between(8, 1)", "3"),
    ],
)
def test_number_functions_give_their_documented_values(expression, expected):
    assert text_of(expression) == expected


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
        ('urn_parts("telegram:7788#ann").display', "ann"),
        ('urn_parts("mailto:a@b.co").path', "a@b.co"),
        ('format_urn("telegram:7788#ann")', "ann"),
        ('format_urn("tel:+493012345678")', "030 12345678"),
        ('format_urn("mailto:a@b.co")', "a@b.co"),
        ('format_urn("telegram:********")', "********"),
        ('attachment_parts("audio:http://x.io/a:b").url', "http://x.io/a:b"),
        ('attachment_parts("nothing").content_type', ""),
        ('json(array(1.50, "é\\"", null, upper))', '[1.5,"é\\"",null,null]'),
        ('json(object("b", 1, "a", object()))', '{"a":{},"b":1}'),
        ('parse_json("{\\"a\\": [1e2, true]}").a[0]', "100"),
        ('format_location("Kenya > Nairobi > Westlands")', "Westlands"),
        ('format_location("Kenya")', "Kenya"),
        ("format_number(1234.5)", "1.234,5"),
        ("format_number(1234.565, 2)", "1.234,57"),
        ("format_number(1234, 2, false)", "1234,00"),
        ('format(array(1000.5, "x"))', "1.000,5, x"),
        ('format(object("a", 1, "b", array("x\\ny", 2)))', "a: 1\nb:\n  - x\n    y\n  - 2"),
    ],
)
def test_format_functions_give_their_documented_values(expression, expected):
    assert text_of(expression, GERMAN) == expected


@pytest.mark.parametrize(
    "expression",
    [
        'urn_parts("nothing")',
        'format_urn("")',
        'parse_json("{a: 1}")',
        'parse_json("NaN")',
        "format_number(1, 10)",
        "format_number(1, -1)",
        'prompt("none")',
    ],
)
def test_format_functions_refuse_invalid_arguments(expression):
    assert error_of(expression).startswith("error calling ")


def test_a_prompt_is_filled_with_its_arguments():
    resources = Resources(prompts={"sort": "Sort {{ .arg1 }} by {{.arg2}}"})
    assert value_of('prompt("sort", array(1, 2), "size")', resources=resources) == "Sort [1, 2] by size"
    assert value_of('prompt("sort", 1)', resources=resources) == "Sort 1 by <no value>"
    assert isinstance(value_of('prompt("other")', resources=resources), XError)
