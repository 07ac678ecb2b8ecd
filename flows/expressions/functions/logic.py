"""Logical functions and functions on errors (flow format, functions).

Functions that convert between types (flow format, functions).
"""

from flows.expressions.conversions import render
from flows.expressions.evaluation import Evaluation, ExpressionError
from flows.expressions.functions.registry import ANY, BOOLEAN, DATE, DATETIME, NUMBER, RAW, TEXT, TIME, function
from flows.expressions.values import Value, XArray, XError, to_value

ITEM_LIMIT = 10_000


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


@function("text", takes=[TEXT])
@function("boolean", takes=[BOOLEAN])
@function("number", takes=[NUMBER])
@function("date", takes=[DATE])
@function("datetime", takes=[DATETIME])
@function("time", takes=[TIME])
def convert(evaluation: Evaluation, value: Value) -> Value:
    """The argument after conversion."""
    return value


@function("array", rest=ANY)
def make_array(evaluation: Evaluation, *items: Value) -> XArray:
    """An array of the arguments."""
    return XArray(check_count(items))


@function("object", rest=ANY)
def make_object(evaluation: Evaluation, *pairs: Value) -> Value:
    """An object of alternating names and values; the value of `__default__` is its default."""
    if len(pairs) % 2:
        raise ExpressionError("requires an even number of arguments")
    names = [TEXT(evaluation, name) for name in pairs[::2]]
    return to_value(dict(zip(names, pairs[1::2], strict=True)))


def check_count(items: tuple[Value, ...] | list[Value]) -> tuple[Value, ...] | list[Value]:
    """The items themselves; raises ExpressionError if there are too many for an array."""
    if len(items) > ITEM_LIMIT:
        raise ExpressionError(f"array would have more than {ITEM_LIMIT} items")
    return items
