from decimal import Decimal

from flows.clock import SystemClock
from flows.environment import Environment
from flows.expressions.evaluation import Budget
from flows.expressions.templates import evaluate_value
from flows.expressions.values import XArray, XError
from tests.flows.expressions.evaluating import evaluate_template, make_context

CONTEXT = make_context({"order": {"__default__": "Order 7", "item": "Tea", "count": 2}, "xs": [1, "a"]})


def value(template):
    return evaluate_value(template, CONTEXT, Environment(), SystemClock()).value


def test_literal_text_and_texts_of_expressions_are_joined():
    assert evaluate_template("@order: @order.count x @(upper(order.item))", CONTEXT).text == "Order 7: 2 x TEA"


def test_an_expression_in_error_leaves_nothing_and_is_reported():
    result = evaluate_template("a@(1/0)b@order.size.c", CONTEXT)
    assert result.text == "ab"
    assert result.errors == [
        "error evaluating @(1/0): division by zero",
        "error evaluating @order.size.c: object has no property 'size'",
    ]
    assert (result.errors[0].expression, result.errors[0].reason) == ("@(1/0)", "division by zero")
    assert result.error_text.count("error evaluating") == 2


def test_the_text_is_cut_to_the_limit_with_an_ellipsis():
    assert evaluate_template("@(repeat(order.item, 4))", CONTEXT, limit=10).text == "TeaTeaT..."
    assert evaluate_template("@(repeat(order.item, 4))", CONTEXT, limit=12).text == "TeaTeaTeaTea"
    assert len(evaluate_template("x" * 10_001).text) == 10_000
    assert len(evaluate_template("x" * 10_001, limit=None).text) == 10_001


def test_only_the_texts_of_expressions_are_escaped():
    result = evaluate_template("'a' @order.item", CONTEXT, escape=lambda text: f"<{text}>")
    assert result.text == "'a' <Tea>"


def test_a_single_expression_keeps_its_type():
    assert value(" @order.count ") == Decimal(2)
    assert isinstance(value("@xs"), XArray)
    assert value("@(null)") is None
    assert isinstance(value("@(1/0)"), XError)
    assert isinstance(value("@(1 +)"), XError)


def test_anything_else_becomes_text():
    assert value("@order.count@order.count") == "22"
    assert value("@order.count.") == "2."
    assert value("plain") == "plain"
    assert value("  two words\n") == "two words"
    assert value(' @order.count @(" x ")') == "2  x "
    assert value("") == ""


def test_errors_of_a_mixed_template_are_reported_beside_its_text():
    result = evaluate_value("x @(1/0)", CONTEXT, Environment(), SystemClock())
    assert result.value == "x "
    assert result.errors == ["error evaluating @(1/0): division by zero"]
    assert evaluate_value("@(1/0)", CONTEXT, Environment(), SystemClock()).errors == []


def test_one_template_has_one_budget():
    assert not evaluate_template('@(repeat("x", 40))', CONTEXT, budget=Budget(60)).errors
    errors = evaluate_template('@(repeat("x", 40))@(repeat("x", 40))', CONTEXT, budget=Budget(60)).errors
    assert [error.reason for error in errors] == ["expression is too complex to evaluate"]


def test_a_very_long_expression_is_too_complex():
    errors = evaluate_template("@(" + " " * 50_001 + "1)", CONTEXT).errors
    assert [error.reason for error in errors] == ["expression is too complex to evaluate"]
