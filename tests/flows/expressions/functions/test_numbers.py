import pytest

from tests.flows.expressions.evaluating import error_of, text_of


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
