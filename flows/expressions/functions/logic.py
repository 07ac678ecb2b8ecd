"""Logical functions and functions on errors (flow format, functions)."""

from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import BOOLEAN, RAW, function
from flows.expressions.rendering import render
from flows.expressions.values import Value, XError


@function("and", takes=[RAW], rest=RAW)
def all_true(evaluation: Evaluation, *values: Value) -> bool:
    """Whether all values are true; stops at the first that is not."""
    return all(BOOLEAN(evaluation, value) for value in values)


@function("or", takes=[RAW], rest=RAW)
def any_true(evaluation: Evaluation, *values: Value) -> bool:
    """Whether any value is true; stops at the first that is."""
    return any(BOOLEAN(evaluation, value) for value in values)


@function("if", takes=[BOOLEAN, RAW, RAW])
def choose(evaluation: Evaluation, test: bool, when_true: Value, when_false: Value) -> Value:
    """One of two values."""
    return when_true if test else when_false


@function("is_error", takes=[RAW])
def is_error(evaluation: Evaluation, value: Value) -> bool:
    """Whether a value is an error."""
    return isinstance(value, XError)


@function("default", takes=[RAW, RAW])
def fall_back(evaluation: Evaluation, value: Value, fallback: Value) -> Value:
    """The value, or the fallback if it is an error or its text is empty."""
    if isinstance(value, XError):
        return fallback
    try:
        return value if render(value, evaluation.budget) else fallback
    except ExpressionError:
        return fallback
