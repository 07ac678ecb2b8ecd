"""The operators of expressions (flow format, evaluation rules).

Equality and order of values (flow format, types and conversions).
"""

from collections.abc import Callable, Hashable
from datetime import date, datetime, time
from decimal import Decimal

from flows.expressions import decimals
from flows.expressions.conversions import check_depth, to_number, to_text
from flows.expressions.evaluation import Budget, Evaluation, ExpressionError
from flows.expressions.values import Value, XArray, XError, XFunction, XObject
from flows.typed import compose

POWER_WORK = 300

Operator = Callable[[Evaluation, Value, Value], Value]

# Creating and hashing a key takes longer than other steps.
KEY_WORK = 2
_TYPES: tuple[type, ...] = (bool, str, Decimal, datetime, date, time)


def _join(evaluation: Evaluation, left: Value, right: Value) -> str:
    first, second = to_text(evaluation, left), to_text(evaluation, right)
    if len(first) + len(second) > evaluation.budget.cost:
        evaluation.budget.reserve(len(first) + len(second))
    return first + second


def _equal(evaluation: Evaluation, left: Value, right: Value) -> bool:
    return compose(to_text(evaluation, left)) == compose(to_text(evaluation, right))


def _differ(evaluation: Evaluation, left: Value, right: Value) -> bool:
    return not _equal(evaluation, left, right)


def _power(evaluation: Evaluation, left: Value, right: Value) -> Decimal:
    base, exponent = to_number(evaluation, left), to_number(evaluation, right)
    evaluation.budget.spend(POWER_WORK)
    return decimals.raise_to_power(base, exponent)


def _on_numbers(operation: Callable[[Decimal, Decimal], Value]) -> Operator:
    def apply(evaluation: Evaluation, left: Value, right: Value) -> Value:
        return operation(to_number(evaluation, left), to_number(evaluation, right))

    return apply


BINARY_OPERATORS: dict[str, Operator] = {
    "&": _join,
    "=": _equal,
    "!=": _differ,
    "<": _on_numbers(lambda first, second: first < second),
    "<=": _on_numbers(lambda first, second: first <= second),
    ">": _on_numbers(lambda first, second: first > second),
    ">=": _on_numbers(lambda first, second: first >= second),
    "+": _on_numbers(decimals.add),
    "-": _on_numbers(decimals.subtract),
    "*": _on_numbers(decimals.multiply),
    "/": _on_numbers(decimals.divide),
    "^": _power,
}


def binary_operator(symbol: str) -> Operator:
    """The function of an operator; if operands are errors, the first one is the result."""
    operation = BINARY_OPERATORS[symbol]

    def apply(evaluation: Evaluation, left: Value, right: Value) -> Value:
        if isinstance(left, XError):
            return left
        if isinstance(right, XError):
            return right
        try:
            return operation(evaluation, left, right)
        except ExpressionError as error:
            return XError(str(error))

    return apply


def negate(evaluation: Evaluation, operand: Value) -> Value:
    """The value of `-operand`."""
    try:
        return decimals.negate(to_number(evaluation, operand))
    except ExpressionError as error:
        return XError(str(error))


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
