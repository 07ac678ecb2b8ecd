"""Functions that convert between types (flow format, functions)."""

from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import ANY, BOOLEAN, DATE, DATETIME, NUMBER, TEXT, TIME, function
from flows.expressions.values import Value, XArray, to_value

ITEM_LIMIT = 10_000


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
