"""Strict JSON: everything that two parsers could read differently, or that a database cannot store, is rejected."""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

NESTING_LIMIT = 32
SMALLEST, LARGEST = -(2**63), 2**63 - 1
INTEGER_LENGTH = 20  # digits of the smallest integer, with its sign
FLOAT_LENGTH = 400

_BLANKS = b" \t\r\n"
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_SUSPICIOUS_NUMBER = re.compile(r"[0-9]{19}|[eE]\+?[0-9]{3}")
_SUSPICIOUS_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class StrictJsonError(ValueError):
    """A body that is not acceptable JSON; the message tells the client why, and `path` in which field, by keys and
    indexes."""

    def __init__(self, message: str, path: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.path = path


def parse_strict(raw: bytes, *, nesting_limit: int = NESTING_LIMIT) -> Any:
    """The value of a JSON text in UTF-8; an empty one is an empty object.

    Raises StrictJsonError for invalid UTF-8, a byte order mark, NaN and infinities, NUL characters, duplicate keys,
    lone surrogates, integers beyond signed 64 bit, numbers that are very long or too large for a double, more nesting
    than the limit, and everything that is not JSON. The time is linear in the size of the body.
    """
    if not raw.strip(_BLANKS):
        return {}
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StrictJsonError("The request body is not valid UTF-8.") from error
    check_nesting(raw, nesting_limit)
    value = _parse(text)
    if _SUSPICIOUS_ESCAPE.search(text):
        check_characters(value)
    return value


def _parse(text: str) -> Any:
    # A hook per number doubles the time for a long list of ids, so it is set only if a number could be too large.
    decoder = _CAREFUL if _SUSPICIOUS_NUMBER.search(text) else _QUICK
    try:
        return decoder.decode(text)
    except StrictJsonError:
        raise
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise StrictJsonError(f"The request body is not valid JSON: {where}.") from error


def check_nesting(raw: bytes, limit: int) -> None:
    """Raises StrictJsonError when brackets outside of texts nest deeper than the limit, or do not match."""
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return
    without_escapes = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_texts = b"".join(without_escapes.split(b'"')[::2])
    brackets = outside_texts.translate(_AS_SQUARE, _ALL_BUT_BRACKETS)
    for _ in range(limit):  # each pass removes the innermost level
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return
    if brackets.count(b"[") != brackets.count(b"]"):
        raise StrictJsonError("The request body is not valid JSON: its brackets do not match.")
    raise StrictJsonError(f"The request body nests deeper than {limit} levels.")


def check_characters(value: object, path: tuple[str, ...] = ()) -> None:
    """Raises StrictJsonError for NUL and lone surrogates in any text or key."""
    if isinstance(value, str):
        found = _UNSTORABLE.search(value)
        if found is not None and found.group() == "\x00":
            raise StrictJsonError("NUL characters (\\u0000) are not allowed.", path)
        if found is not None:
            half = f"\\u{ord(found.group()):04x}"
            raise StrictJsonError(f"{half} is half of a surrogate pair: send the whole character.", path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_characters(item, (*path, str(index)))
    elif isinstance(value, dict):
        for key, item in value.items():
            check_characters(key, path)
            check_characters(item, (*path, key))


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise StrictJsonError(f"An object names the same key twice: {twice[:64]}.")
    return result


def _read_integer(text: str) -> int:
    number = int(text) if len(text) <= INTEGER_LENGTH else LARGEST + 1
    if not SMALLEST <= number <= LARGEST:
        raise StrictJsonError("Whole numbers must fit 64 bits.")
    return number


def _read_float(text: str) -> float:
    number = float(text) if len(text) <= FLOAT_LENGTH else math.inf
    if not math.isfinite(number):
        raise StrictJsonError("Numbers must be finite and of reasonable length.")
    return number


def _refuse_constant(name: str) -> Any:
    raise StrictJsonError(f"{name} is not a JSON number.")


_QUICK = json.JSONDecoder(object_pairs_hook=_read_object, parse_constant=_refuse_constant)
_CAREFUL = json.JSONDecoder(
    object_pairs_hook=_read_object,
    parse_constant=_refuse_constant,
    parse_int=_read_integer,
    parse_float=_read_float,
)
