"""Numbers in people's text and in the formats of a workspace (flow format, numbers and number-like parts)."""

import json
import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache, lru_cache
from pathlib import Path

from flows.environment import Environment, NumberFormat
from flows.typed import plain

SIGNIFICANT_DIGITS_MAX = 36
MAGNITUDE_MAX = Decimal("1E100")
MAGNITUDE_MIN = Decimal("1E-100")
# Several tests of a router ask for the numbers of one text; longer ones are not kept.
CACHED_TEXTS, CACHED_LENGTH = 2048, 40
# The range of exponents of the first digit in which no number is too large or too small.
_SURE_EXPONENTS = range(-99, 100)

LARGEST_INTEGER = 2**63 - 1
"""What writers of JSON have at most; stored forms have a larger whole number as a text."""
_PLAIN = re.compile(r"-?([0-9]+(\.[0-9]+)?|\.[0-9]+)")
ARABIC_DECIMAL, ARABIC_GROUPING = "\u066b", "\u066c"
"""Signs that mean one thing only, in every format."""
_SIGNS = f".,'{ARABIC_DECIMAL}{ARABIC_GROUPING}"
# Rounds numbers with more significant digits.
_LONGEST = Context(prec=SIGNIFICANT_DIGITS_MAX)
_WIDE = Context(prec=250, rounding=ROUND_HALF_UP)
USUAL_FORMAT = "1,234.5"
NUMBER_FORMATS = {
    USUAL_FORMAT: NumberFormat(".", ","),
    "1.234,5": NumberFormat(",", "."),
    "1 234,5": NumberFormat(",", " "),
    "1'234.5": NumberFormat(".", "'"),
    "1 234.5": NumberFormat(".", " "),
    "1'234,5": NumberFormat(",", "'"),
}
"""How people write numbers, each named by an example. Signs are those that phones can send in a short message."""


class PlainNumber(str):
    """A number that no person has typed, such as one of JSON or of a cell: it has a point in every number format."""

    __slots__ = ()


class NumberError(ValueError):
    """A text is not a number, or the number is out of range."""


def find_number_format(country: str, language: str = "") -> str:
    """The name of the format in which numbers are written in a country: in this language, if it is one of the
    country's, otherwise in the official one that most people there know.
    """
    table = _load_formats()
    return table.get(f"{country}-{language}") or table.get(country, USUAL_FORMAT)


@cache
def _load_formats() -> dict[str, str]:
    table: dict[str, str] = json.loads(Path(__file__).with_name("number_formats.json").read_text(encoding="utf-8"))
    return table


def parse_decimal(text: str, number_format: NumberFormat | None = None) -> Decimal:
    """Reads a text that is a number as a whole: an optional minus, digits, and optionally a dot and digits.

    With a number format its symbols count instead of the dot, except in a PlainNumber, and digits of any script; groups
    have three digits, and what cannot be a number in the format is none. Raises NumberError, also for numbers of more
    than 36 significant digits or of a magnitude outside 1E-100 to 1E100.
    """
    number_format = None if isinstance(text, PlainNumber) else number_format
    known = text.strip() if number_format is None else _make_plain(plain(text).strip(), number_format)
    if not _PLAIN.fullmatch(known):
        raise NumberError(f"{text!r} is not a number")
    number = Decimal(known)
    if not is_in_range(number):
        raise NumberError("number value out of range")
    return number


def find_numbers(environment: Environment, text: str) -> Iterator[Decimal]:
    """The numbers in a text, in their order; parts that look like numbers but cannot be read are skipped."""
    number_format = environment.number_format
    if len(text) > CACHED_LENGTH:
        return _find_numbers(number_format, text)
    return iter(_find_numbers_cached(number_format.decimal_symbol, number_format.digit_grouping_symbol, text))


@lru_cache(maxsize=CACHED_TEXTS)
def _find_numbers_cached(decimal_symbol: str, digit_grouping_symbol: str, text: str) -> tuple[Decimal, ...]:
    return tuple(_find_numbers(NumberFormat(decimal_symbol, digit_grouping_symbol), text))


def _find_numbers(number_format: NumberFormat, text: str) -> Iterator[Decimal]:
    for match in _candidate_pattern(number_format).finditer(plain(text)):
        try:
            yield parse_decimal(match.group(), number_format)
        except NumberError:
            continue


def is_in_range(number: Decimal) -> bool:
    """Whether a finite number is within the limits of digits and size."""
    if number.adjusted() not in _SURE_EXPONENTS and number and not MAGNITUDE_MIN <= abs(number) <= MAGNITUDE_MAX:
        return False
    return _LONGEST.plus(number) == number


def render_decimal(number: Decimal) -> str:
    """A number in plain digits, without exponent and without zeros at the end of its fraction."""
    if not number:
        return "0"
    plain = str(number)
    if "E" in plain:
        plain = format(number, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def format_number(
    number: Decimal, number_format: NumberFormat, places: int | None = None, is_grouped: bool = True
) -> str:
    """A number as people of a workspace write it.

    With `places` its fraction is rounded (half away from zero) and padded to that many digits.
    """
    plain = render_decimal(number) if places is None else _round(number, places)
    sign = "-" if plain.startswith("-") else ""
    whole, _, fraction = plain.removeprefix("-").partition(".")
    if is_grouped:
        whole = f"{int(whole):,}".replace(",", number_format.digit_grouping_symbol)
    return f"{sign}{whole}{number_format.decimal_symbol}{fraction}" if fraction else f"{sign}{whole}"


def _round(number: Decimal, places: int) -> str:
    rounded = number.quantize(Decimal(1).scaleb(-places), context=_WIDE)
    return format(rounded.copy_abs() if rounded == 0 else rounded, "f")


@lru_cache(maxsize=64)
def _candidate_pattern(number_format: NumberFormat) -> re.Pattern[str]:
    """What may be a number, in this format or another: digits with all signs that could join them, of which the decimal
    one counts once. Spaces join groups only.
    """
    decimal, grouping = _symbols(number_format)
    joins = f"[{re.escape((_SIGNS + grouping.strip()).replace(decimal, '') if decimal else _SIGNS)}]"
    point = rf"(?:{re.escape(decimal)}[0-9]+)?" if decimal else ""
    # Where spaces group nothing, numbers beside each other of which one has other digits are no groups.
    groups = rf"[0-9]{{1,3}}(?: [0-9]{{3}})+(?!{'' if grouping == ' ' else ' ?'}[0-9])|"
    beginning = rf"|(?<!\w){re.escape(decimal)}[0-9]+" if decimal else ""
    # Groups that the decimal sign joins, the last one of three digits, are a number of another format.
    sign = re.escape(decimal)
    foreign = rf"[0-9]{{1,3}}(?:{sign}[0-9]{{2,3}})+{sign}[0-9]{{3}}(?![0-9])|" if decimal else ""
    return re.compile(rf"-?(?:{foreign}(?:{groups}[0-9]+)(?:{joins}[0-9]+)*{point})(?:{joins}[0-9]+)*{beginning}")


@lru_cache(maxsize=64)
def _number_pattern(number_format: NumberFormat) -> re.Pattern[str]:
    decimal, grouping = _symbols(number_format)
    point = f"{re.escape(decimal)}|{ARABIC_DECIMAL}"
    comma = "|".join(map(re.escape, filter(None, (grouping, ARABIC_GROUPING))))
    grouped = rf"[1-9][0-9]{{0,2}}(?:(?P<comma>{comma})[0-9]{{3}}(?:(?P=comma)[0-9]{{3}})*)"
    return re.compile(rf"(?P<sign>-?)(?P<whole>{grouped}|[0-9]*)(?:(?:{point})(?P<fraction>[0-9]+))?")


def _symbols(number_format: NumberFormat) -> tuple[str, str]:
    """Of a plain text; every space means the same one, and so does every apostrophe."""
    return plain(number_format.decimal_symbol), plain(number_format.digit_grouping_symbol)


def _make_plain(text: str, number_format: NumberFormat) -> str:
    match = _number_pattern(number_format).fullmatch(text) if number_format.decimal_symbol else None
    if match is None:
        return ""
    whole = "".join(filter(str.isdigit, match["whole"]))
    fraction = f".{match['fraction']}" if match["fraction"] else ""
    return f"{match['sign']}{whole}{fraction}"
