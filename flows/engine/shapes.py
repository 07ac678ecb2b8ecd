"""Checks the shape of plain data that hosts hand in, before anything relies on it.

A shape is a type of plain values, `ANYTHING`, a list with the shape of its items, a mapping of property names to their
shapes, `EachValue` for mappings with any names, or a tuple of shapes of which one has to fit. Null fits everywhere but
in `Needed`, and properties that a shape does not name are of no interest.
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
class Needed:
    """A shape of something that must be there, and not be empty."""

    shape: Any


@dataclass(frozen=True, slots=True)
class EachValue:
    """A mapping of any names to values of one shape."""

    shape: Any


def find_misfit(value: Any, shape: Any) -> str:
    """The path to the first part of a value that does not fit, or `value` for all of it; empty text if all fits."""
    misfit = _find(value, shape)
    return "" if misfit is None else misfit.removeprefix(".") or "value"


def _find(value: Any, shape: Any) -> str | None:
    """The path from a value to its first part that does not fit; None if all fits."""
    if isinstance(shape, Needed):
        return _find(value, shape.shape) if value else ""
    if value is None:
        return None
    if shape is ANYTHING:
        return None if is_plain(value) else ""
    if isinstance(shape, tuple):
        misfits = [_find(value, each) for each in shape]
        return None if None in misfits else misfits[-1]
    if isinstance(shape, type):
        return None if _is_of(value, shape) else ""
    if isinstance(shape, list):
        return _find_in_list(value, shape[0]) if isinstance(value, (list, tuple)) else ""
    if not isinstance(value, Mapping):
        return ""
    return _find_in_any(value, shape.shape) if isinstance(shape, EachValue) else _find_in_named(value, shape)


def is_plain(value: Any) -> bool:
    """Whether a value can be written as JSON and used in expressions: nothing unheard of, not nested too deeply."""
    parts = [value]
    for _ in range(VALUE_NESTING_LIMIT + 1):
        if not all(part is None or isinstance(part, _PLAIN) for part in parts):
            return False
        if not all(math.isfinite(part) for part in parts if isinstance(part, float)):
            return False
        parts = [inner for part in parts for inner in _list_inner(part)]
        if not parts:
            return True
    return False


def _list_inner(part: Any) -> Sequence[Any]:
    if isinstance(part, Mapping):
        return [*part, *part.values()]
    return part if isinstance(part, (list, tuple)) else ()


def _is_of(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, kind) and not (isinstance(value, float) and not math.isfinite(value))


def _find_in_list(items: Sequence[Any], shape: Any) -> str | None:
    for number, item in enumerate(items):
        misfit = _find(item, shape)
        if misfit is not None:
            return f"[{number}]{misfit}"
    return None


def _find_in_any(value: Mapping[Any, Any], shape: Any) -> str | None:
    for name, item in value.items():
        misfit = _find(item, shape) if isinstance(name, str) else ""
        if misfit is not None:
            return f".{name}{misfit}"
    return None


def _find_in_named(value: Mapping[str, Any], shape: Mapping[str, Any]) -> str | None:
    for name, each in shape.items():
        item = value.get(name)
        # Most parts are texts or missing; sessions are read so often that it pays to see that at once.
        if type(item) is each or (item is None and not isinstance(each, Needed)):
            continue
        misfit = _find(item, each)
        if misfit is not None:
            return f".{name}{misfit}"
    return None
