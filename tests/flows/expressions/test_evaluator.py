from decimal import Decimal

import pytest

from flows.expressions.values import Deprecated, XArray, XError, XObject
from tests.flows.expressions.evaluating import error_of, evaluate_template, text_of, value_of

ORDER = {"item": "Tea", "sizes": [1, 2, 3], "None": None}


def test_parameters_hide_context_and_context_hides_functions():
    assert text_of("((upper) => upper)(1)", upper="mine") == "1"
    assert text_of("upper", upper="mine") == "mine"
    assert text_of('upper("a")') == "A"


def test_a_missing_name_is_an_error_and_cannot_be_called():
    assert error_of("Nothing") == "context has no property 'nothing'"
    assert error_of("Nothing()") == "nothing is not a function"
    assert error_of("order.item(1)", order=ORDER) == "order.item is not a function"


def test_a_missing_property_is_an_error_behind_a_dot_but_null_in_brackets():
    assert error_of("order.Price", order=ORDER) == "object has no property 'Price'"
    assert value_of('order["price"]', order=ORDER) is None
    assert value_of('order["ITEM"]', order=ORDER) == "Tea"


def test_arrays_are_indexed_from_both_ends():
    assert value_of("xs[0] + xs.1 + xs[-1]", xs=[1, 2, 4]) == Decimal(7)
    assert error_of("xs[3]", xs=[1, 2, 4]) == "index 3 out of range for 3 items"
    assert error_of("xs[-4]", xs=[1, 2, 4]) == "index -4 out of range for 3 items"
    assert error_of("xs.first", xs=[1]) == 'unable to convert "first" to a number'


@pytest.mark.parametrize(
    ("expression", "described"),
    [
        ("null", "null"),
        ('"a"', '"a"'),
        ("2.50", "2.5"),
        ("true", "true"),
        ("upper", "upper(...)"),
        ("now()", "datetime"),
        ("today()", "date"),
        ("time_from_parts(1, 2, 3)", "time"),
    ],
)
def test_nothing_else_has_lookups(expression, described):
    assert error_of(f"({expression})[0]") == f"{described} doesn't support lookups"


def test_errors_pass_through_operators_and_lookups():
    for expression in ("1 / 0 + 1", "-(1 / 0)", "(1 / 0).x", "(1 / 0)[0]", "xs[1 / 0]", '"a" & 1 / 0', "(1 / 0)()"):
        assert error_of(expression, xs=[1]) == "division by zero", expression


def test_errors_of_functions_carry_their_names():
    assert error_of('round("x")') == 'error calling round(...): unable to convert "x" to a number'
    assert error_of("upper(1 / 0)") == "error calling upper(...): division by zero"
    assert error_of("((x) => x + y)(1)") == "error calling <anon>(...): context has no property 'y'"


def test_wrong_numbers_of_arguments_are_errors():
    assert error_of("abs()") == "error calling abs(...): need 1 argument(s), got 0"
    assert error_of("max()") == "error calling max(...): need at least 1 argument(s), got 0"
    assert error_of("round(1, 2, 3)") == "error calling round(...): need 1 to 2 argument(s), got 3"
    assert error_of("((x, y) => x)(1)") == "error calling <anon>(...): need 2 argument(s), got 1"


def test_anonymous_functions_see_what_is_around_them():
    assert text_of("((a) => foreach(xs, (x) => x * a + b))(10)", xs=[1, 2], b=3) == "[13, 23]"
    assert text_of("((a) => (b) => a & b)(1)(2)") == "12"


def test_numbers_too_long_to_be_numbers_are_errors():
    assert error_of("1" * 37) == "number value out of range"
    assert value_of("1" + "0" * 40) == Decimal("1E40")


def test_deprecated_values_work_and_warn_each_time():
    old = XObject({"id": Deprecated("7", "use ref"), "lazy": lambda: Deprecated("8", "use lazier")})
    context = XObject({"contact": old, "gone": Deprecated("x", "use here")})
    result = evaluate_template('@contact.ID @(contact["id"]) @gone @contact.lazy', context)
    assert result.text == "7 7 x 8"
    assert result.warnings == ["use ref", "use ref", "use here", "use lazier"]
    assert evaluate_template("@contact", context).text == "{id: 7, lazy: 8}"


def test_lazy_properties_are_made_once_and_only_when_used():
    made = []

    def make(name):
        made.append(name)
        return name

    context = XObject({"a": lambda: make("a"), "b": lambda: make("b")})
    assert evaluate_template("@a@a", context).text == "aa"
    assert made == ["a"]


def test_endless_recursion_is_too_complex_and_no_function_error():
    assert error_of("((f) => f(f))((f) => f(f))") == "expression is too complex to evaluate"
    assert error_of("((f) => f(f))((f) => text(f(f)))") == "expression is too complex to evaluate"


def test_an_error_in_the_context_can_be_looked_at():
    context = XObject({"bad": XError("broken"), "xs": XArray([XError("torn")])})
    assert (
        evaluate_template("@(is_error(bad)) @(has_error(bad).match) @(default(xs[0], 1))", context).text
        == "true broken 1"
    )
    assert evaluate_template("@bad", context).errors == ["error evaluating @bad: broken"]
