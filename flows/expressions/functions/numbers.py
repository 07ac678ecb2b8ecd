"""Functions on numbers (flow format, functions)."""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

from flows.expressions import decimals
from flows.expressions.errors import OUT_OF_RANGE, ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import INTEGER, NUMBER, function
from flows.numbers import render_decimal

_LARGEST_WHOLE = 2**63


@function("abs", takes=[NUMBER])
def absolute(evaluation: Evaluation, number: Decimal) -> Decimal:
    """The number without its sign."""
    return decimals.absolute(number)


@function("max", takes=[NUMBER], rest=NUMBER)
def largest(evaluation: Evaluation, *numbers: Decimal) -> Decimal:
    """The largest of the numbers."""
    return max(numbers)


@function("min", takes=[NUMBER], rest=NUMBER)
def smallest(evaluation: Evaluation, *numbers: Decimal) -> Decimal:
    """The smallest of the numbers."""
    return min(numbers)


@function("mean", takes=[NUMBER], rest=NUMBER)
def average(evaluation: Evaluation, *numbers: Decimal) -> Decimal:
    """The arithmetic mean of the numbers."""
    return decimals.divide(add_up(numbers), Decimal(len(numbers)))


@function("mod", takes=[NUMBER, NUMBER])
def divide_with_remainder(evaluation: Evaluation, dividend: Decimal, divisor: Decimal) -> Decimal:
    """The remainder, with the sign of the dividend."""
    return decimals.remainder(dividend, divisor)


@function("round", takes=[NUMBER], optional=[INTEGER])
def round_half_away(evaluation: Evaluation, number: Decimal, places: int = 0) -> Decimal:
    """Rounds half away from zero."""
    return decimals.round_to(number, places, ROUND_HALF_UP)


@function("round_up", takes=[NUMBER], optional=[INTEGER])
def round_up(evaluation: Evaluation, number: Decimal, places: int = 0) -> Decimal:
    """Rounds towards plus infinity."""
    return decimals.round_to(number, places, ROUND_CEILING)


@function("round_down", takes=[NUMBER], optional=[INTEGER])
def round_down(evaluation: Evaluation, number: Decimal, places: int = 0) -> Decimal:
    """Rounds towards minus infinity."""
    return decimals.round_to(number, places, ROUND_FLOOR)


@function("rand")
def draw_fraction(evaluation: Evaluation) -> Decimal:
    """A number that is at least 0 and less than 1."""
    return evaluation.clock.random()


@function("rand_between", takes=[NUMBER, NUMBER])
def draw_between(evaluation: Evaluation, first: Decimal, last: Decimal) -> Decimal:
    """A whole number from an inclusive range."""
    lowest, highest = sorted((first, last))
    width = decimals.add(decimals.subtract(highest, lowest), Decimal(1))
    drawn = decimals.round_to(evaluation.clock.random(), decimals.DIVISION_PLACES, ROUND_FLOOR)
    return decimals.add(lowest, decimals.share(width, drawn)).to_integral_value(ROUND_FLOOR)


@function("percent", takes=[NUMBER])
def show_percent(evaluation: Evaluation, number: Decimal) -> str:
    """The number as a whole percentage."""
    hundredths = decimals.round_to(decimals.multiply(number, Decimal(100)), 0)
    if not -_LARGEST_WHOLE <= hundredths < _LARGEST_WHOLE:
        raise ExpressionError(OUT_OF_RANGE)
    return f"{render_decimal(hundredths)}%"


def add_up(numbers: tuple[Decimal, ...] | list[Decimal]) -> Decimal:
    """The exact sum of some numbers."""
    total = Decimal(0)
    for number in numbers:
        total = decimals.add(total, number)
    return total
