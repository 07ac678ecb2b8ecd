"""Functions that convert between types (flow format, functions)."""

from datetime import date, datetime, time
from decimal import Decimal

from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import ANY, BOOLEAN, DATE, DATETIME, NUMBER, TEXT, TIME, function
from flows.expressions.values import Value, XArray, XObject

ITEM_LIMIT = 10_000


@function("text", takes=[TEXT])
def convert_to_text(evaluation: Evaluation, value: str) -> str:
    """The text of any value."""
    return value


@function("boolean", takes=[BOOLEAN])
def convert_to_boolean(evaluation: Evaluation, value: bool) -> bool:
    """The truth of any value."""
    return value


@function("number", takes=[NUMBER])
def convert_to_number(evaluation: Evaluation, value: Decimal) -> Decimal:
    """The number that a text plainly is."""
    return value


@function("date", takes=[DATE])
def convert_to_date(evaluation: Evaluation, value: date) -> date:
    """The day of a datetime or the date in a text."""
    return value


@function("datetime", takes=[DATETIME])
def convert_to_datetime(evaluation: Evaluation, value: datetime) -> datetime:
    """The beginning of a date, or the date and time in a text."""
    return value


@function("time", takes=[TIME])
def convert_to_time(evaluation: Evaluation, value: time) -> time:
    """The time of a datetime, an hour as a number, or the time in a text."""
    return value


@function("array", rest=ANY)
def make_array(evaluation: Evaluation, *items: Value) -> XArray:
    """An array of the arguments."""
    return XArray(check_count(items))


@function("object", rest=ANY)
def make_object(evaluation: Evaluation, *pairs: Value) -> XObject:
    """An object of names and values in turn."""
    if len(pairs) % 2:
        raise ExpressionError("requires an even number of arguments")
    names = [TEXT(evaluation, name) for name in pairs[::2]]
    return XObject(dict(zip(names, pairs[1::2], strict=True)))


def check_count(items: tuple[Value, ...] | list[Value]) -> tuple[Value, ...] | list[Value]:
    """The items themselves; raises ExpressionError for more than an array may have."""
    if len(items) > ITEM_LIMIT:
        raise ExpressionError(f"array would have more than {ITEM_LIMIT} items")
    return items
