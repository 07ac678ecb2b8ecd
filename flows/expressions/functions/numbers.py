"""Functions on numbers (flow format, functions).

Functions on URNs, attachments and JSON, and functions that format for people (flow format, functions).
"""

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

from flows import urns
from flows.expressions import decimals
from flows.expressions.conversions import format_value, read_json, render, render_json
from flows.expressions.evaluation import OUT_OF_RANGE, Evaluation, ExpressionError
from flows.expressions.functions.registry import ANY, BOOLEAN, INTEGER, NUMBER, RAW, TEXT, function
from flows.expressions.values import Value, XError, XObject, describe
from flows.numbers import format_number, render_decimal

_LARGEST_WHOLE = 2**63

MOST_PLACES = 9
_CONTENT_TYPE = re.compile(r"image|audio|video|application|geo|unavailable|[a-z0-9_]+/[-+.a-z0-9_]+")
_PROMPT_ARGUMENT = re.compile(r"\{\{\s*\.arg([0-9]{1,4})\s*\}\}")


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


@function("urn_parts", takes=[TEXT])
def split_urn(evaluation: Evaluation, text: str) -> XObject:
    """Scheme, path and display of a URN."""
    urn = _read_urn(text)
    return XObject({"scheme": urn.scheme, "path": urn.path, "display": urn.display})


@function("format_urn", takes=[TEXT], work=30)
def format_urn(evaluation: Evaluation, text: str) -> str:
    """A URN for people: its display, the national form of a phone number, or its path."""
    return _read_urn(text).show()


@function("attachment_parts", takes=[TEXT])
def split_attachment(evaluation: Evaluation, text: str) -> XObject:
    """Content type and URL of an attachment; without a type the whole text is the URL."""
    content_type, url = attachment_parts(text)
    return XObject({"content_type": content_type, "url": url})


def attachment_parts(text: str) -> tuple[str, str]:
    """The content type, in lower case, and the URL of an attachment. What stands before a colon is only a type if it is
    one, whole or without its second part; otherwise the whole text is the URL."""
    content_type, colon, url = text.partition(":")
    content_type = content_type.lower()
    return (content_type, url) if colon and _CONTENT_TYPE.fullmatch(content_type) else ("", text)


@function("json", takes=[ANY])
def write_json(evaluation: Evaluation, value: Value) -> str:
    """A value as JSON."""
    return render_json(value, evaluation.budget)


@function("parse_json", takes=[TEXT])
def parse_json(evaluation: Evaluation, text: str) -> Value:
    """The value of a JSON text; null if it is empty."""
    return read_json(text, evaluation.budget) if text else None


@function("format", takes=[RAW])
def format_for_people(evaluation: Evaluation, value: Value) -> str:
    """A value as people in the workspace write it; nothing for an error."""
    return "" if isinstance(value, XError) else format_value(evaluation, value)


@function("format_number", takes=[NUMBER], optional=[INTEGER, BOOLEAN])
def format_with_places(
    evaluation: Evaluation, number: Decimal, places: int | None = None, is_grouped: bool = True
) -> str:
    """A number with so many decimal places, by default all of them, with or without grouped digits."""
    if places is not None and not 0 <= places <= MOST_PLACES:
        raise ExpressionError(f"requires 0 to {MOST_PLACES} decimal places, got {places}")
    return format_number(number, evaluation.environment.number_format, places, is_grouped)


@function("format_location", takes=[TEXT])
def format_location(evaluation: Evaluation, path: str) -> str:
    """The last name of a place's path."""
    return path.rpartition(">")[2].strip()


@function("prompt", takes=[TEXT], rest=ANY)
def fill_prompt(evaluation: Evaluation, name: str, *values: Value) -> str:
    """A prompt of the host, filled with the arguments."""
    template = evaluation.resources.prompts.get(name)
    if template is None:
        raise ExpressionError(f"no such prompt {name!r}")
    texts = [render(value, evaluation.budget) for value in values]

    def argument(found: re.Match[str]) -> str:
        index = int(found[1])
        return texts[index - 1] if 1 <= index <= len(texts) else "<no value>"

    return _PROMPT_ARGUMENT.sub(argument, template)


def _read_urn(text: str) -> urns.Urn:
    # Only the syntax is checked: redacted URNs, whose paths are not valid, can be split too.
    try:
        return urns.parse(text)
    except urns.UrnError as error:
        raise ExpressionError(f"{describe(text)} is not a valid URN: {error}") from None
