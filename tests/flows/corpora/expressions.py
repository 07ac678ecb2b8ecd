"""Checks the cases of the expression language: one function per case file, by the name of the file."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from flows.environment import Environment, NumberFormat, SystemClock
from flows.expressions import conversions
from flows.expressions.conversions import format_value, read_json, render, render_json
from flows.expressions.decimals import check_range
from flows.expressions.evaluation import Budget, Evaluation, ExpressionError, Resources
from flows.expressions.evaluator import evaluate_text, evaluate_value
from flows.expressions.functions.registry import find_function
from flows.expressions.operators import binary_operator, compare, equality_key, negate
from flows.expressions.paths import context_paths, rewrite_whole_expressions
from flows.expressions.scanner import TokenKind, has_expressions, scan_template
from flows.expressions.values import Value, XError, XObject
from flows.numbers import find_numbers, format_number
from flows.places import read_places
from tests.flows.corpora.case_values import (
    assert_case_value,
    read_case_arguments,
    read_case_text,
    read_case_value,
    read_environment,
    standing_clock,
)

Case = dict[str, Any]
DEFAULT_NOW = "2018-04-11T13:24:30.123456Z"


def check_function(case: Case, fixtures: Case) -> None:
    """Calls a function on values."""
    resources = Resources(prompts=read_prompts(fixtures))
    environment = read_environment(fixtures["environments"][case["env"]])
    actual = _call(case["function"], case["args"], environment, fixtures["now"], resources)
    if case.get("nondeterministic"):
        assert isinstance(actual, Decimal) and Decimal(0) <= actual <= Decimal(10)
    else:
        assert_case_value(actual, case["expected"])


def read_prompts(fixtures: Case) -> dict[str, str]:
    """The named prompts of a case file, of its own or of its services."""
    return fixtures.get("prompts") or (fixtures.get("services") or {}).get("llm_prompts") or {}


def check_router_test(case: Case, fixtures: Case) -> None:
    """Calls a router test on values, or reads a number as it would."""
    if "input" in case:
        environment = Environment(number_format=NumberFormat(**case["number_format"]))
        assert next(find_numbers(environment, case["input"])) == Decimal(case["expected"]["number"])
        return
    environment = read_environment(case.get("environment") or fixtures["environments"][case["env"]])
    resources = Resources(read_places(fixtures["locations"][0]), finds_intents=case.get("spec") == "13")
    assert_case_value(_call(case["test"], case["args"], environment, fixtures["now"], resources), case["expected"])


def _call(name: str, arguments: list[Any], environment: Environment, now: str, resources: Resources) -> Value:
    function = find_function(name)
    assert function is not None, f"no function {name}"
    evaluation = Evaluation(environment, standing_clock(now), resources)
    return function.call(evaluation, read_case_arguments(arguments))


def check_operator(case: Case, fixtures: Case) -> None:
    """Applies an operator to one or two values."""
    evaluation = Evaluation(read_environment(fixtures["environment"]))
    operands = read_case_arguments(case["args"])
    if len(operands) == 1:
        assert_case_value(negate(evaluation, operands[0]), case["expected"])
    else:
        assert_case_value(binary_operator(case["operator"])(evaluation, *operands), case["expected"])


def check_error(case: Case, fixtures: Case) -> None:
    """Evaluates a template that fails."""
    result = _text(case["template"], fixtures["context"], fixtures["environment"])
    assert (result.text, result.error_text) == ("", case["error"])


def _text(template: Any, context: Any, settings: Case, **more: Any) -> Any:
    return evaluate_text(
        read_case_text(template),
        read_case_value(context),
        read_environment(settings),
        standing_clock(DEFAULT_NOW),
        **more,
    )


def check_limit(case: Case, fixtures: Case) -> None:
    """Evaluates a template within a budget."""
    budget = Budget(case["budget"]) if "budget" in case else Budget()
    result = _text(case["template"], fixtures["context"], fixtures["environment"], budget=budget)
    assert case.get("error_contains", "") in result.error_text
    assert bool(result.errors) is not case["allowed"]


def check_parsing(case: Case, fixtures: Case) -> None:
    """Prints, searches, splits or looks for expressions."""
    template, roots = case["template"], case.get("top_levels") or fixtures["top_levels"]
    if case["kind"] == "refactor":
        rewriting = rewrite_whole_expressions(template, lambda expression: expression, roots)
        assert (rewriting.template, bool(rewriting.errors)) == (case["refactored"], case["has_error"])
    elif case["kind"] == "context_refs":
        assert [list(path) for path in context_paths(template, roots)] == case["paths"]
    elif case["kind"] == "roundtrip":
        assert "".join(token.source for token in scan_template(template)) == template
    else:
        assert has_expressions(template, roots) is case["expected"]


def check_scanning(case: Case, fixtures: Case) -> None:
    """Splits a template; how literal text is divided makes no difference."""
    actual = [[token.kind.value, token.text] for token in scan_template(case["input"], fixtures["top_levels"])]
    assert _merge_bodies(actual) == _merge_bodies(case["tokens"])


def _merge_bodies(tokens: list[list[str]]) -> list[list[str]]:
    merged: list[list[str]] = []
    for kind, text in tokens:
        if merged and kind == merged[-1][0] == TokenKind.BODY.value:
            merged[-1][1] += text
        else:
            merged.append([kind, text])
    return merged


def check_template_text(case: Case, fixtures: Case) -> None:
    """Evaluates a template as text."""
    escape = (lambda text: text.replace('"', '\\"')) if case["context"] == "escaping" else None
    context = fixtures["contexts"][case["context"]]
    result = _text(case["template"], context, fixtures["environment"], escape=escape)
    assert bool(result.errors) is case["has_error"], result.errors
    if not case["has_error"]:
        assert result.text == read_case_text(case["expected"])
    assert result.warnings == case.get("warnings", [])


def check_template_value(case: Case, fixtures: Case) -> None:
    """Evaluates a template as a typed value."""
    environment = read_environment(fixtures["environment"])
    context = read_case_value(fixtures["context"])
    assert_case_value(
        evaluate_value(case["template"], context, environment, standing_clock(DEFAULT_NOW)).value, case["expected"]
    )


def check_type(case: Case, fixtures: Case) -> None:
    """Renders, compares or converts values."""
    _TYPE_CHECKS[case["kind"]](case, fixtures)


def _check_rendering(case: Case, fixtures: Case) -> None:
    value = read_case_value(case["value"])
    assert render(value) == case["rendered"]
    assert render_json(value) == case["json"]
    assert conversions.is_truthy(value) is case["truthy"]
    evaluation = Evaluation(read_environment(fixtures["dmy_environment"]))
    assert format_value(evaluation, value) == case["formatted"]


def _check_equality(case: Case, fixtures: Case) -> None:
    assert (len(set(map(equality_key, map(read_case_value, case["values"])))) == 1) is case["expected"]


def _check_order(case: Case, fixtures: Case) -> None:
    assert compare(*map(read_case_value, case["values"])) == case["expected"]


def _check_conversion(case: Case, fixtures: Case) -> None:
    evaluation = Evaluation(
        read_environment(fixtures["environment"]), standing_clock(fixtures.get("now") or DEFAULT_NOW)
    )
    convert = _CONVERSIONS.get(case["to"]) or getattr(conversions, f"to_{case['to']}")
    value = read_case_value(case["value"])
    if case["error"]:
        with pytest.raises(ExpressionError):
            convert(evaluation, value)
    elif case["to"] == "integer":
        assert convert(evaluation, value) == case["expected"]
    else:
        assert_case_value(convert(evaluation, value), case["expected"])


def _check_number_format(case: Case, fixtures: Case) -> None:
    places = None if case["places"] < 0 else case["places"]
    number_format = NumberFormat(**case["format"])
    number = read_case_value(case["value"])
    assert format_number(number, number_format, places, case["group_digits"]) == case["expected"]


def _check_range(case: Case, fixtures: Case) -> None:
    if case["rejected"]:
        with pytest.raises(ExpressionError):
            check_range(Decimal(case["value"]))
    else:
        assert check_range(Decimal(case["value"])) == Decimal(case["value"])


def _check_json_lookup(case: Case, fixtures: Case) -> None:
    try:
        parsed: Value = read_json(case["json"])
    except ExpressionError as error:
        parsed = XError(str(error))
    result = evaluate_value(f"@({case['expression']})", XObject({"j": parsed}), Environment(), SystemClock())
    if case["error"]:
        assert isinstance(result.value, XError)
    else:
        assert_case_value(result.value, case["expected"])


_CONVERSIONS = {"datetime_with_time_fill": partial(conversions.to_datetime, fills_time=True)}
_TYPE_CHECKS: dict[str, Callable[[Case, Case], None]] = {
    "render": _check_rendering,
    "equals": _check_equality,
    "compare": _check_order,
    "convert": _check_conversion,
    "format_number": _check_number_format,
    "decimal_range": _check_range,
    "json_lookup": _check_json_lookup,
}


def check_example_without_session(case: Case, fixtures: Case) -> None:
    """Evaluates a one-line example that needs no session."""
    resources = Resources(read_places(fixtures["assets"]["locations"][0]), read_prompts(fixtures))
    environment = read_environment(fixtures["environment"])
    result = evaluate_text(
        case["template"], XObject({}), environment, standing_clock(fixtures["now"]), resources=resources
    )
    assert bool(result.errors) is case.get("error", False), result.errors
    if not case.get("nondeterministic") and not case.get("error"):
        assert result.text == case["expected"]


CHECKS: dict[str, Callable[[Case, Case], None]] = {
    "excellent_functions": check_function,
    "excellent_operators": check_operator,
    "excellent_errors": check_error,
    "excellent_limits": check_limit,
    "excellent_parse": check_parsing,
    "excellent_scanner": check_scanning,
    "excellent_template_text": check_template_text,
    "excellent_template_value": check_template_value,
    "excellent_types": check_type,
    "router_tests": check_router_test,
}
