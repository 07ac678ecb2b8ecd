"""Reads JSON text into values (flow format, conversions)."""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from flows.expressions.budget import Budget
from flows.expressions.decimals import check_range
from flows.expressions.errors import OUT_OF_RANGE, ExpressionError
from flows.expressions.rendering import VALUE_NESTING_LIMIT
from flows.expressions.values import Value, XArray, XError, XObject
from flows.words import replace_unpaired

CHARACTERS_PER_UNIT = 2
_DEFAULT_PROPERTY = "__default__"
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def read_json(text: str, budget: Budget | None = None) -> Value:
    """The value of a JSON text; raises ExpressionError for anything else.

    A property `__default__` becomes its object's default, a number out of range an error value in its place.
    """
    budget = budget or Budget()
    budget.spend(len(text) // CHARACTERS_PER_UNIT)
    _check_nesting(text)
    try:
        decoded = json.loads(text, parse_int=_read_number, parse_float=_read_number, parse_constant=_refuse_constant)
    except ValueError:
        raise ExpressionError("invalid JSON") from None
    return _to_value(decoded, budget)


def _check_nesting(text: str) -> None:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > VALUE_NESTING_LIMIT:
            raise ExpressionError("value nesting too deep")


def _read_number(digits: str) -> Decimal | XError:
    try:
        return check_range(Decimal(digits))
    except (InvalidOperation, ExpressionError):
        return XError(OUT_OF_RANGE)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _to_value(decoded: Any, budget: Budget) -> Value:
    budget.charge(decoded if isinstance(decoded, str) else None)
    if isinstance(decoded, dict):
        properties = {_clean(name): _to_value(item, budget) for name, item in decoded.items()}
        if _DEFAULT_PROPERTY in properties:
            default = properties.pop(_DEFAULT_PROPERTY)
            return XObject(properties, default=default)
        return XObject(properties)
    if isinstance(decoded, list):
        return XArray([_to_value(item, budget) for item in decoded])
    if isinstance(decoded, str):
        return _clean(decoded)
    simple: Value = decoded
    return simple


def _clean(text: str) -> str:
    # Escapes of unpaired surrogates and of NUL are valid JSON, but cannot be stored or sent.
    return replace_unpaired(text).replace("\0", "")
