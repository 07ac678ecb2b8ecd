"""The operators of expressions (flow format, evaluation rules)."""

from collections.abc import Callable
from decimal import Decimal

from flows.expressions import decimals
from flows.expressions.conversions import to_number, to_text
from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.values import Value, XError
from flows.typed import compose

POWER_WORK = 300

Operator = Callable[[Evaluation, Value, Value], Value]


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
