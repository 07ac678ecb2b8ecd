"""Arithmetic on the numbers of expressions (flow format, numbers)."""

import re
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from functools import lru_cache

from flows.environment import NumberFormat
from flows.expressions.evaluation import OUT_OF_RANGE, ExpressionError
from flows.numbers import SIGNIFICANT_DIGITS_MAX, NumberError, is_in_range, parse_decimal, render_decimal

DIVISION_PLACES = 16
LARGEST_EXPONENT = 100
CACHED_NUMBERS, CACHED_LENGTH = 2048, 40
INTEGER_RANGE = range(-(2**31), 2**31)

# Sums of the largest and smallest numbers need two hundred digits; with more digits the range check gets exact results.
_EXACT = Context(prec=250, rounding=ROUND_HALF_UP, traps=[InvalidOperation, DivisionByZero, Overflow])
_POWER = Context(prec=150, rounding=ROUND_HALF_UP, traps=[InvalidOperation, DivisionByZero, Overflow])
_SHORT = Context(prec=SIGNIFICANT_DIGITS_MAX, rounding=ROUND_HALF_UP)
_PLAIN = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_SNAP = Decimal("1E-16")


def check_range(number: Decimal) -> Decimal:
    """The number itself; raises ExpressionError if it is out of range for expressions."""
    if not number.is_finite():
        raise ExpressionError(OUT_OF_RANGE)
    if not is_in_range(number):
        raise ExpressionError(OUT_OF_RANGE)
    return number


def read_plain(text: str) -> Decimal | None:
    """The number in a trimmed text, None if it is not a plain number; raises ExpressionError if out of range."""
    return _read_plain(text) if len(text) > CACHED_LENGTH else _read_plain_cached(text)


def _read_plain(text: str) -> Decimal | None:
    trimmed = text.strip()
    return check_range(Decimal(trimmed)) if _PLAIN.fullmatch(trimmed) else None


def read_typed(text: str, number_format: NumberFormat) -> Decimal | None:
    """The number in a text as people write it, None if it is none or out of range."""
    try:
        return parse_decimal(text, number_format)
    except NumberError:
        return None


# Cached, because the bounds of tests are the same for every contact.
_read_plain_cached = lru_cache(maxsize=CACHED_NUMBERS)(_read_plain)


def truncate(number: Decimal) -> int:
    """The whole part; raises ExpressionError if it does not fit in 32 bits."""
    whole = int(number)
    if whole not in INTEGER_RANGE:
        raise ExpressionError(f"number value {render_decimal(number)} is out of range for an integer")
    return whole


def negate(number: Decimal) -> Decimal:
    """The number with the other sign, with all its digits."""
    return _EXACT.minus(number)


def absolute(number: Decimal) -> Decimal:
    """The number without its sign, with all its digits."""
    return _EXACT.abs(number)


def share(number: Decimal, fraction: Decimal) -> Decimal:
    """The whole part of a fraction of a whole number, with all its digits."""
    return _EXACT.multiply(number, fraction).to_integral_value(ROUND_FLOOR)


def add(first: Decimal, second: Decimal) -> Decimal:
    """Exact sum."""
    return check_range(_EXACT.add(first, second))


def subtract(first: Decimal, second: Decimal) -> Decimal:
    """Exact difference."""
    return check_range(_EXACT.subtract(first, second))


def multiply(first: Decimal, second: Decimal) -> Decimal:
    """Exact product."""
    return check_range(_EXACT.multiply(first, second))


def divide(first: Decimal, second: Decimal) -> Decimal:
    """Quotient to sixteen places, half away from zero."""
    if not second:
        raise ExpressionError("division by zero")
    return check_range(_EXACT.quantize(_EXACT.divide(first, second), _SNAP).normalize(_EXACT))


def remainder(first: Decimal, second: Decimal) -> Decimal:
    """Remainder with the sign of the dividend."""
    if not second:
        raise ExpressionError("division by zero")
    return check_range(_EXACT.remainder(first, second))


def raise_to_power(base: Decimal, exponent: Decimal) -> Decimal:
    """Power with an exponent from -100 to 100; results very near to a whole number are rounded to it, and those of a
    negative exponent to sixteen places, as they are quotients."""
    if abs(exponent) > LARGEST_EXPONENT:
        raise ExpressionError(f"exponent {render_decimal(exponent)} is out of range")
    if not base and exponent < 0:
        raise ExpressionError("division by zero")
    if not exponent:
        return Decimal(1)
    try:
        result = _POWER.power(base, exponent)
    except InvalidOperation:
        raise ExpressionError("no real number is that power") from None
    except Overflow:
        raise ExpressionError(OUT_OF_RANGE) from None
    if exponent < 0:
        return check_range(_EXACT.quantize(result, _SNAP).normalize(_EXACT))
    return check_range(_snap(result))


def _snap(result: Decimal) -> Decimal:
    whole = result.to_integral_value(ROUND_HALF_UP)
    if abs(result - whole) < _SNAP and (whole or not result):
        return whole
    digits = len(result.normalize(_POWER).as_tuple().digits)
    if digits <= SIGNIFICANT_DIGITS_MAX:
        return result
    return _EXACT.quantize(result, _SNAP).normalize(_EXACT) or _SHORT.plus(result)


def round_to(number: Decimal, places: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    """Rounds to decimal places, or left of the point for negative ones."""
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or places >= -exponent:
        return number
    # Beyond the first possible digit the result no longer changes, but the arithmetic would overflow.
    step = Decimal(1).scaleb(min(-places, LARGEST_EXPONENT + 1), _EXACT)
    scaled = _EXACT.divide(number, step).to_integral_value(rounding, _EXACT)
    return check_range(_EXACT.multiply(scaled, step).normalize(_EXACT)) if scaled else Decimal(0)
