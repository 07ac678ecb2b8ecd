"""JSON read strictly: what two parsers could understand differently, or a database cannot store, is refused."""

import json
import math
import re
from typing import Any

NESTING_LIMIT = 32
DIGITS_LIMIT = 19
SMALLEST, LARGEST = -(2**63), 2**63 - 1
STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class StrictJsonError(ValueError):
    """A body that is not acceptable JSON; the message says why, for the client."""


def parse_strict(raw: bytes, *, nesting_limit: int = NESTING_LIMIT) -> Any:
    """The value of a JSON text in UTF-8; an empty one is an empty object.

    Raises StrictJsonError for invalid UTF-8, a byte order mark, NaN and infinities, NUL characters, duplicate keys,
    lone surrogates, integers beyond 64 bits, and nesting deeper than the limit.
    """
    if not raw.strip(b" \t\r\n"):
        return {}
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StrictJsonError("The request body is not valid UTF-8.") from error
    check_nesting(raw, nesting_limit)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_read_object,
            parse_int=_read_integer,
            parse_float=_read_float,
            parse_constant=_refuse,
        )
    except StrictJsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise StrictJsonError("The request body is not valid JSON.") from error
    if "\x00" in text or "\\u" in text:
        check_characters(value)
    return value


def check_nesting(raw: bytes, limit: int) -> None:
    """Raises StrictJsonError when brackets outside of texts nest deeper than the limit."""
    depth = 0
    for match in STRING_OR_BRACKET.finditer(raw):
        token = match.group()
        if token in b"[{":
            depth += 1
            if depth > limit:
                raise StrictJsonError(f"The request body nests deeper than {limit} levels.")
        elif token in b"]}":
            depth -= 1


def check_characters(value: Any) -> None:
    """Raises StrictJsonError for NUL and lone surrogates in any text or key."""
    if isinstance(value, str):
        if "\x00" in value:
            raise StrictJsonError("NUL characters are not allowed.")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise StrictJsonError("The request body holds half of a surrogate pair.")
    elif isinstance(value, list):
        for item in value:
            check_characters(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            check_characters(key)
            check_characters(item)


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise StrictJsonError("An object names the same key twice.")
    return result


def _read_integer(text: str) -> int:
    number = int(text) if len(text) <= DIGITS_LIMIT + 1 else LARGEST + 1
    if not SMALLEST <= number <= LARGEST:
        raise StrictJsonError("Whole numbers must fit 64 bits.")
    return number


def _read_float(text: str) -> float:
    number = float(text) if len(text) <= 400 else math.inf
    if not math.isfinite(number):
        raise StrictJsonError("Numbers must be finite.")
    return number


def _refuse(name: str) -> Any:
    raise StrictJsonError(f"{name} is not a JSON number.")
