"""Conversions between the types of values (flow format, conversions).

Each takes the evaluation and a value and raises ExpressionError if the value cannot be converted; an error value is
raised as its error. An object is replaced by its default, if it has one.

Formats values as people in a workspace write them (flow format, `format`).

Writes values as text and as JSON, and reads JSON text into values (flow format, conversions).
"""

import json
import re
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from flows.dates import parse_date, parse_datetime, parse_time
from flows.environment import write_moment
from flows.expressions import decimals
from flows.expressions.decimals import check_range
from flows.expressions.evaluation import OUT_OF_RANGE, Budget, Evaluation, ExpressionError, ExpressionTooComplexError
from flows.expressions.values import Value, XArray, XError, XFunction, XObject, describe
from flows.layouts import format_with_layout
from flows.numbers import format_number, render_decimal
from flows.words import replace_unpaired

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


HOURS_PER_DAY = 24

INDENT = "  "

CHARACTERS_PER_UNIT = 2
_DEFAULT_PROPERTY = "__default__"
ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def raise_error(value: Value) -> None:
    """Raises an error value as an exception; does nothing for other values."""
    if isinstance(value, XError):
        raise ExpressionError(value.message)


def stand_in(value: Value) -> Value:
    """The value itself, or the default of an object that has one; raises an error value."""
    depth = 0
    while isinstance(value, XObject) and value.has_default:
        value = value.default
        depth += 1
        check_depth(depth)
    raise_error(value)
    return value


def to_any(evaluation: Evaluation, value: Value) -> Value:
    """Any value except an error."""
    raise_error(value)
    return value


def to_text(evaluation: Evaluation, value: Value) -> str:
    """The text of a value."""
    if isinstance(value, str):
        evaluation.budget.read(value)
        return value
    if isinstance(value, Decimal):
        return render_decimal(value)
    raise_error(value)
    return render(value, evaluation.budget)


def to_number(evaluation: Evaluation, value: Value) -> Decimal:
    """A number, or a text that is a plain number, or one in the number format of the environment."""
    plain = value if isinstance(value, Decimal) else stand_in(value)
    if isinstance(plain, Decimal):
        return plain
    number = decimals.read_plain(plain) if isinstance(plain, str) else None
    if number is None and isinstance(plain, str):
        number = decimals.read_typed(plain, evaluation.environment.number_format)
    if number is None:
        raise ExpressionError(f"unable to convert {describe(plain)} to a number")
    return number


def to_integer(evaluation: Evaluation, value: Value) -> int:
    """A number without its fraction, of at most 32 bits."""
    return decimals.truncate(to_number(evaluation, value))


def is_truthy(value: Value) -> bool:
    """Whether a value counts as true; an error counts as false."""
    if isinstance(value, XObject):
        return is_truthy(value.default) if value.has_default else len(value) > 0
    if isinstance(value, str):
        return value != "" and value.lower() != "false"
    if isinstance(value, (bool, Decimal)):
        return bool(value)
    if isinstance(value, date):
        return value.year != 1
    if isinstance(value, time):
        return value.replace(tzinfo=None) != time()
    return isinstance(value, XFunction) or (isinstance(value, XArray) and len(value) > 0)


def to_boolean(evaluation: Evaluation, value: Value) -> bool:
    """Whether a value counts as true."""
    return is_truthy(stand_in(value))


def to_date(evaluation: Evaluation, value: Value) -> date:
    """A date, the day of a datetime in the environment's timezone, or the first date in a text."""
    plain = stand_in(value)
    if isinstance(plain, datetime):
        return in_zone(evaluation, plain).date()
    if isinstance(plain, date):
        return plain
    found = parse_date(evaluation.environment, evaluation.clock, plain) if isinstance(plain, str) else None
    if found is None:
        raise ExpressionError(f"unable to convert {describe(plain)} to a date")
    return found


def to_datetime(evaluation: Evaluation, value: Value, *, fills_time: bool = False) -> datetime:
    """A datetime, the beginning of a date in the environment's timezone, or the first date (and time) in a text.

    With `fills_time` a text without a time of day gets the current one.
    """
    plain = stand_in(value)
    if isinstance(plain, datetime):
        return plain
    if isinstance(plain, date):
        return datetime(plain.year, plain.month, plain.day, tzinfo=evaluation.environment.zone)
    found = None
    if isinstance(plain, str):
        found = parse_datetime(evaluation.environment, evaluation.clock, plain, fills_time)
    if found is None:
        raise ExpressionError(f"unable to convert {describe(plain)} to a datetime")
    return found


def to_time(evaluation: Evaluation, value: Value) -> time:
    """A time, the time of a datetime in its own timezone, the hour 0 to 24, or the first time of day in a text."""
    plain = stand_in(value)
    if isinstance(plain, datetime):
        return plain.time()
    if isinstance(plain, time):
        return plain
    found = None
    if isinstance(plain, Decimal) and 0 <= int(plain) <= HOURS_PER_DAY:
        found = time(int(plain) % HOURS_PER_DAY)
    elif isinstance(plain, str):
        found = parse_time(plain)
    if found is None:
        raise ExpressionError(f"unable to convert {describe(plain)} to a time")
    return found


def to_array(evaluation: Evaluation, value: Value) -> XArray:
    """An array; null is an empty one."""
    plain = stand_in(value)
    if plain is None:
        return XArray()
    if not isinstance(plain, XArray):
        raise ExpressionError(f"unable to convert {describe(plain)} to an array")
    return plain


def to_object(evaluation: Evaluation, value: Value) -> XObject:
    """An object; null is an empty one."""
    raise_error(value)
    if value is None:
        return XObject({})
    if not isinstance(value, XObject):
        raise ExpressionError(f"unable to convert {describe(value)} to an object")
    return value


def to_function(evaluation: Evaluation, value: Value) -> XFunction:
    """A function."""
    raise_error(value)
    if not isinstance(value, XFunction):
        raise ExpressionError(f"unable to convert {describe(value)} to a function")
    return value


def in_zone(evaluation: Evaluation, moment: datetime) -> datetime:
    """The same instant in the environment's time zone. Raises ExpressionError at the ends of the calendar."""
    try:
        return moment.astimezone(evaluation.environment.zone)
    except OverflowError:
        raise ExpressionError("datetime is out of range") from None


def format_value(evaluation: Evaluation, value: Value, depth: int = 0) -> str:
    """Numbers and dates in the environment's formats, items and properties of several lines in lists."""
    check_depth(depth)
    evaluation.budget.spend()
    if isinstance(value, XArray):
        return _format_array([format_value(evaluation, item, depth + 1) for item in value], evaluation)
    if isinstance(value, XObject):
        if value.has_default:
            return format_value(evaluation, value.default, depth + 1)
        pairs = [(name, format_value(evaluation, item, depth + 1)) for name, item in value.items()]
        return _format_object(pairs, evaluation)
    return _format_simple(evaluation, value)


def read_document(text: str) -> Value:
    """The JSON that somebody else sent, without NUL, which cannot be stored or sent; None for anything else."""
    try:
        return read_json(ESCAPED_NUL.sub(r"\1", text.replace("\0", "")))
    except (ExpressionError, ExpressionTooComplexError):
        return None


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


def _format_simple(evaluation: Evaluation, value: Value) -> str:
    environment = evaluation.environment
    if isinstance(value, Decimal):
        return format_number(value, environment.number_format)
    if isinstance(value, datetime):
        layout = f"{environment.date_format} {environment.time_format}"
        return format_with_layout(in_zone(evaluation, value), layout, environment, "datetime")
    if isinstance(value, date):
        return format_with_layout(value, environment.date_format, environment, "date")
    if isinstance(value, time):
        return format_with_layout(value, environment.time_format, environment, "time")
    return render(value)


def _format_array(texts: list[str], evaluation: Evaluation) -> str:
    _reserve(texts, evaluation)
    if any("\n" in text for text in texts):
        return "\n".join("- " + _indent(text)[len(INDENT) :] for text in texts)
    return ", ".join(texts)


def _reserve(texts: list[str], evaluation: Evaluation) -> None:
    length = sum(map(len, texts))
    evaluation.budget.spend(len(texts) + length // 16)
    if length > evaluation.budget.cost:
        evaluation.budget.reserve(length)


def _format_object(pairs: list[tuple[str, str]], evaluation: Evaluation) -> str:
    _reserve([text for _, text in pairs], evaluation)
    lines = [f"{name}:\n{_indent(text)}" if "\n" in text else f"{name}: {text}" for name, text in pairs]
    return "\n".join(lines)


def _indent(text: str) -> str:
    return "\n".join(INDENT + line for line in text.split("\n"))


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
