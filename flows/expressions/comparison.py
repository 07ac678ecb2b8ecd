"""Equality and order of values (flow format, types and conversions)."""

from collections.abc import Hashable
from datetime import date, datetime, time
from decimal import Decimal

from flows.expressions.budget import Budget
from flows.expressions.rendering import check_depth
from flows.expressions.values import Value, XArray, XError, XFunction, XObject

# Creating and hashing a key takes longer than other steps.
KEY_WORK = 2
_TYPES: tuple[type, ...] = (bool, str, Decimal, datetime, date, time)


def equality_key(value: Value, budget: Budget | None = None, depth: int = 0) -> Hashable:
    """A hashable key that is equal for two values exactly if they have one type and are equal. Objects are equal with
    the same properties and default, functions with the same name, datetimes as instants.
    """
    check_depth(depth)
    budget = budget or Budget()
    budget.spend(KEY_WORK)
    if isinstance(value, XArray):
        return ("array", tuple(equality_key(item, budget, depth + 1) for item in value))
    if isinstance(value, XObject):
        properties = tuple((name, equality_key(item, budget, depth + 1)) for name, item in value.items())
        default = equality_key(value.default, budget, depth + 1) if value.has_default else "no default"
        return ("object", properties, default)
    if isinstance(value, XFunction):
        return ("function", value.name)
    if isinstance(value, XError):
        return ("error", value.message)
    return (comparable_type(value), value)


def comparable_type(value: Value) -> type | None:
    """The ordered type of a value, None for values without an order (also for null)."""
    kind = type(value)
    return kind if kind in _TYPES else next((base for base in _TYPES if isinstance(value, base)), None)


def compare(first: Value, second: Value) -> int:
    """-1, 0 or 1 for values of one ordered type, texts by code points; null comes first. Raises TypeError for values
    without an order.
    """
    if first is None or second is None:
        return (first is not None) - (second is not None)
    if comparable_type(first) is None or comparable_type(first) is not comparable_type(second):
        raise TypeError("values of different types have no order")
    return (first > second) - (first < second)  # type: ignore[operator]  # one type, as just checked
