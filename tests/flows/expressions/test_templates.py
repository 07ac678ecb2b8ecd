from flows.environment import Environment, SystemClock
from flows.expressions.evaluation import Budget
from flows.expressions.evaluator import evaluate_value
from tests.flows.expressions.evaluating import evaluate_template, make_context

CONTEXT = make_context({"order": {"__default__": "Order 7", "item": "Tea", "count": 2}, "xs": [1, "a"]})


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
