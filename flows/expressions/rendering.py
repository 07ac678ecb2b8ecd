"""Values as text and as JSON (flow format, types and conversions)."""

import json
from datetime import date, datetime, time
from decimal import Decimal

from flows.clock import write_moment
from flows.expressions.evaluation import Budget, ExpressionError
from flows.expressions.values import Value, XArray, XError, XFunction, XObject
from flows.numbers import render_decimal

VALUE_NESTING_LIMIT = 100


def check_depth(depth: int) -> None:
    """Raises ExpressionError for values that are nested too deep."""
    if depth > VALUE_NESTING_LIMIT:
        raise ExpressionError("value nesting too deep")


def render(value: Value, budget: Budget | None = None, depth: int = 0) -> str:
    """The text of a value; an error's text is empty. Containers are paid for from the budget while they are written."""
    if isinstance(value, str):
        return value
    if isinstance(value, XArray):
        budget = _enter(budget, depth)
        return f"[{_join([render(item, budget, depth + 1) for item in value], budget)}]"
    if isinstance(value, XObject):
        budget = _enter(budget, depth)
        if value.has_default:
            return render(value.default, budget, depth + 1)
        pairs = [f"{name}: {render(item, budget, depth + 1)}" for name, item in value.items()]
        return f"{{{_join(pairs, budget)}}}"
    return _render_simple(value)


def _render_simple(value: Value) -> str:
    if value is None or isinstance(value, XError):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return render_decimal(value)
    if isinstance(value, datetime):
        return write_moment(value)
    if isinstance(value, date):
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    if isinstance(value, time):
        return value.replace(tzinfo=None).isoformat("microseconds")
    return value.name if isinstance(value, XFunction) else str(value)


def render_json(value: Value, budget: Budget | None = None, depth: int = 0) -> str:
    """The JSON of a value, compact and with sorted names; functions and nested errors are null."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, XArray):
        budget = _enter(budget, depth)
        return f"[{_join([render_json(item, budget, depth + 1) for item in value], budget, ',')}]"
    if isinstance(value, XObject):
        budget = _enter(budget, depth)
        pairs = [
            f"{json.dumps(name, ensure_ascii=False)}:{render_json(item, budget, depth + 1)}"
            for name, item in value.items()
        ]
        return f"{{{_join(pairs, budget, ',')}}}"
    if value is None or isinstance(value, (XFunction, XError)):
        return "null"
    text = _render_simple(value)
    return text if isinstance(value, (bool, Decimal)) else f'"{text}"'


def _enter(budget: Budget | None, depth: int) -> Budget:
    check_depth(depth)
    return Budget() if budget is None else budget


def _join(pieces: list[str], budget: Budget, separator: str = ", ") -> str:
    budget.spend(len(pieces))
    length = sum(map(len, pieces))
    budget.spend(length // 64)
    if length > budget.cost:
        budget.reserve(length)
    return separator.join(pieces)
