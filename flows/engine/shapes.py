"""Checks the shape of plain data that hosts hand in, before anything relies on it.

A shape is a type of plain values, `ANYTHING`, a list with the shape of its items, a mapping of property names to their
shapes, `EachValue` for mappings with any names, or a tuple of shapes of which one has to fit. Null fits everywhere but
in `Needed`, and properties that a shape does not name are of no interest.
"""

from __future__ import annotations

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


def find_misfit(value: Any, shape: Any, path: str = "") -> str:
    """The path to the first part of a value that does not fit, or `value` for all of it; empty text if all fits."""
    place = path or "value"
    if isinstance(shape, Needed):
        return place if not value else find_misfit(value, shape.shape, path)
    if value is None:
        return ""
    if shape is ANYTHING:
        return "" if is_plain(value) else place
    if isinstance(shape, tuple):
        misfits = [find_misfit(value, each, path) for each in shape]
        return "" if "" in misfits else misfits[-1]
    if isinstance(shape, type):
        return "" if _is_of(value, shape) else place
    if isinstance(shape, list):
        return _find_in_list(value, shape[0], path) if isinstance(value, (list, tuple)) else place
    return _find_in_mapping(value, shape, path) if isinstance(value, Mapping) else place


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


def _find_in_list(items: Sequence[Any], shape: Any, path: str) -> str:
    misfits = (find_misfit(item, shape, f"{path}[{number}]") for number, item in enumerate(items))
    return next((misfit for misfit in misfits if misfit), "")


def _find_in_mapping(value: Mapping[str, Any], shape: Any, path: str) -> str:
    before = f"{path}." if path else ""
    if isinstance(shape, EachValue):
        misfits = (
            find_misfit(item, shape.shape, f"{before}{name}") if isinstance(name, str) else path or "value"
            for name, item in value.items()
        )
    else:
        misfits = (find_misfit(value.get(name), each, f"{before}{name}") for name, each in shape.items())
    return next((misfit for misfit in misfits if misfit), "")
