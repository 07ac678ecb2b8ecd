import pytest

from tests.flows.expressions.evaluating import error_of, text_of


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('and(1, "x", true)', "true"),
        ("and(1, 0, 1 / 0)", "false"),
        ('or(0, "", "False")', "false"),
        ("or(0, 1, 1 / 0)", "true"),
        ('if("false", 1, 2)', "2"),
        ("if(true, 1, 1 / 0)", "1"),
        ("is_error(1 / 0)", "true"),
        ("default(1 / 0, 5)", "5"),
        ("default(null, 5)", "5"),
        ("default(array(), 5)", "[]"),
        ("default(false, 5)", "false"),
        ("default(person, 5)", "5"),
    ],
)
def test_logical_functions_give_their_documented_values(expression, expected):
    assert text_of(expression, person={"__default__": "", "age": 3}) == expected


def test_errors_that_decide_are_errors():
    for expression in ("and(1 / 0, 0)", "or(1 / 0, 1)", "if(1 / 0, 1, 2)", "if(false, 1, 1 / 0)"):
        assert error_of(expression).endswith("division by zero")
