"""Checks the schema of plain data from hosts before it is used. A schema is a type of plain values, `ANYTHING`, a list
with the schema of its items, a mapping of property names to their schemas, `EachValue` for mappings with any names, or
a tuple of schemas of which one must match. Null matches everything except `Required`, and properties that are not in a
schema are ignored.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows.expressions.rendering import VALUE_NESTING_LIMIT

ANYTHING = object()
NUMBER = (int, float)
_PLAIN = (str, bool, int, float, list, tuple, Mapping)


@dataclass(frozen=True, slots=True)
class Required:
    """A schema of a value that must be present and not empty."""

    schema: Any


@dataclass(frozen=True, slots=True)
class EachValue:
    """A mapping of any names to values of one schema."""

    schema: Any


def find_mismatch(value: object, schema: object) -> str:
    """The path to the first part of a value that does not match, or `value` for the whole value; empty if everything
    matches."""
    mismatch = _find(value, schema)
    return "" if mismatch is None else mismatch.removeprefix(".") or "value"


def _find(value: Any, schema: Any) -> str | None:
    """The path from a value to its first part that does not match; None if everything matches."""
    if isinstance(schema, Required):
        return _find(value, schema.schema) if value else ""
    if value is None:
        return None
    if schema is ANYTHING:
        return None if is_plain(value) else ""
    if isinstance(schema, tuple):
        mismatches = [_find(value, each) for each in schema]
        return None if None in mismatches else mismatches[-1]
    if isinstance(schema, type):
        return None if _is_of(value, schema) else ""
    if isinstance(schema, list):
        return _find_in_list(value, schema[0]) if isinstance(value, (list, tuple)) else ""
    if not isinstance(value, Mapping):
        return ""
    return _find_in_any(value, schema.schema) if isinstance(schema, EachValue) else _find_in_named(value, schema)


def is_plain(value: object) -> bool:
    """Whether a value can be written as JSON and used in expressions: only plain types, not nested too deeply."""
    parts = [value]
    for _ in range(VALUE_NESTING_LIMIT + 1):
        # Most parts are strings; triggers are checked so often that testing this first saves time.
        parts = [part for part in parts if type(part) is not str]
        if not all(part is None or isinstance(part, _PLAIN) for part in parts):
            return False
        if not all(math.isfinite(part) for part in parts if isinstance(part, float)):
            return False
        parts = [inner for part in parts for inner in _list_inner(part)]
        if not parts:
            return True
    return False


def _list_inner(part: object) -> Sequence[Any]:
    if isinstance(part, Mapping):
        return [*part, *part.values()]
    return part if isinstance(part, (list, tuple)) else ()


def _is_of(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, kind) and not (isinstance(value, float) and not math.isfinite(value))


def _find_in_list(items: Sequence[Any], schema: object) -> str | None:
    for number, item in enumerate(items):
        mismatch = _find(item, schema)
        if mismatch is not None:
            return f"[{number}]{mismatch}"
    return None


def _find_in_any(value: Mapping[Any, Any], schema: object) -> str | None:
    for name, item in value.items():
        mismatch = _find(item, schema) if isinstance(name, str) else ""
        if mismatch is not None:
            return f".{name}{mismatch}"
    return None


def _find_in_named(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    for name, each in schema.items():
        item = value.get(name)
        # Most parts are strings or missing; sessions are read so often that testing this first saves time.
        if type(item) is each or (item is None and not isinstance(each, Required)):
            continue
        mismatch = _find(item, each)
        if mismatch is not None:
            return f".{name}{mismatch}"
    return None
