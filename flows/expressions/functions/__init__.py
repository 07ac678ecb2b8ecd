"""The functions of the expression language, router tests among them (flow format, functions)."""

from flows.expressions.functions import (
    arrays,
    conversion,
    date_tests,
    dates,
    formats,
    logic,
    number_tests,
    numbers,
    object_tests,
    objects,
    place_tests,
    text,
    text_tests,
    words,
)
from flows.expressions.functions.registry import FUNCTIONS
from flows.expressions.values import XFunction

__all__ = [
    "FUNCTIONS",
    "arrays",
    "conversion",
    "date_tests",
    "dates",
    "find_function",
    "formats",
    "logic",
    "number_tests",
    "numbers",
    "object_tests",
    "objects",
    "place_tests",
    "text",
    "text_tests",
    "words",
]


def find_function(name: str) -> XFunction | None:
    """The function of that name, ignoring case."""
    return FUNCTIONS.get(name.lower())
