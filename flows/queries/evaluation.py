"""Decides whether one contact matches a query (flow format, operators).

The translation to SQL gives the same result for all contacts of a workspace; both are tested on the same cases.
"""

import contextlib
import operator
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

import regex

from flows.dates import move_to_zone, parse_datetime
from flows.environment import Clock, Environment, SystemClock
from flows.numbers import NumberError, parse_decimal
from flows.places import is_possible_path, name_of
from flows.queries.implicit import is_searchable
from flows.queries.resolver import PLACE_TYPES, PropertyKind
from flows.queries.tree import Combination, Condition, Query, QueryError
from flows.typed import plain, same_form, search_form
from flows.words import dictionary_words, is_without_spaces, search_words

NAME_PREFIX_LENGTH_MAX = 8
DAY = timedelta(hours=24)

QueryValue = str | Decimal | int | datetime
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_SYSTEM_CLOCK = SystemClock()
# A word that is cut after an apostrophe must continue after it.
_CUT_OFF = regex.compile(r"[^\p{L}\p{M}\p{N}_]+$")


class QueryableContact(Protocol):
    """A contact as queries read it."""

    def query_values(self, kind: PropertyKind, key: str) -> Sequence[QueryValue]:
        """The values of a property, none if it is not set. Attributes and fields have one value, `urn` and schemes the
        paths of URNs, `group` and `history` names, `waits_at` UUIDs of nodes. Numbers are decimals, dates aware
        datetimes, places their names or paths, everything else strings.
        """


def evaluate(
    query: Query | None, contact: QueryableContact, environment: Environment, *, clock: Clock = _SYSTEM_CLOCK
) -> bool:
    """Whether a contact matches; a query without conditions matches everybody. Raises QueryError."""
    if query is None:
        return True
    if isinstance(query, Combination):
        decide = all if query.op == "and" else any
        return decide(evaluate(child, contact, environment, clock=clock) for child in query.children)
    values = [value for value in contact.query_values(query.kind, query.key) if value != ""]
    if query.is_set_check:
        return bool(values) is (query.operator == "!=")
    matches = any(_matches(query, value, environment, clock) for value in values)
    return not matches if query.operator == "!=" else matches


def day_bounds(moment: datetime, environment: Environment) -> tuple[datetime, datetime]:
    """The beginning and the end of the day of a datetime, in the environment's time zone; the last day of the calendar
    ends with it."""
    begin = move_to_zone(moment, environment.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        return begin, begin.astimezone(UTC) + DAY
    except OverflowError:
        return begin, datetime.max.replace(tzinfo=UTC)


def read_day(value: str, environment: Environment, clock: Clock) -> tuple[datetime, datetime]:
    """The beginning and the end, 24 hours later, of the day in the value of a condition."""
    moment = parse_datetime(environment, clock, value)
    if moment is None:
        raise QueryError("invalid_date", f"can't convert '{value}' to a date", {"value": value})
    return day_bounds(moment, environment)


def read_number(value: str, environment: Environment) -> Decimal:
    """The value of a condition as a number: a plain one, or one in the number format of the environment."""
    with contextlib.suppress(NumberError):
        return parse_decimal(plain(value))
    try:
        return parse_decimal(value, environment.number_format)
    except NumberError as error:
        raise QueryError("invalid_number", f"can't convert '{value}' to a number", {"value": value}) from error


def name_prefixes(value: str) -> list[str]:
    """The prefixes with which words of a name must begin to match a value: the value's words as searches see them, cut.
    Words of scripts without spaces are not cut: a name must contain them.
    """
    words = (word for part in value.split() for word in search_words(search_form(part)))
    cut = (word if is_without_spaces(word) else _CUT_OFF.sub("", word[:NAME_PREFIX_LENGTH_MAX]) for word in words)
    return list(dict.fromkeys(word for word in cut if is_searchable(word)))


def matches_name(name: str, prefixes: Sequence[str]) -> bool:
    """Whether some word of a name begins with one of the prefixes, or the name contains one without spaces."""
    form = search_form(name)
    # Most names have none of them anywhere, and are not divided into words.
    within = [prefix for prefix in prefixes if prefix in form]
    return any(
        is_without_spaces(prefix) or any(word.startswith(prefix) for word in dictionary_words(form))
        for prefix in within
    )


def _matches(condition: Condition, actual: QueryValue, environment: Environment, clock: Clock) -> bool:
    if isinstance(actual, str):
        return _matches_text(condition, actual)
    if isinstance(actual, datetime):
        return _matches_day(condition, actual, environment, clock)
    wanted = read_number(condition.value, environment)
    if condition.operator in ("=", "!="):
        return Decimal(actual) == wanted
    return _COMPARISONS[condition.operator](Decimal(actual), wanted)


def _matches_text(condition: Condition, actual: str) -> bool:
    if condition.operator == "~":
        return _contains(condition, actual)
    is_place = condition.value_type in PLACE_TYPES
    shown = name_of(actual) if is_place and is_possible_path(actual) else actual
    if condition.operator in ("=", "!="):
        return same_form(shown) == same_form(condition.value)
    raise QueryError(
        "unsupported_comparison",
        f"comparisons with {condition.operator} can only be used with date and number fields",
        {"property": condition.key, "operator": condition.operator},
    )


def _contains(condition: Condition, actual: str) -> bool:
    if condition.is_address:
        return search_form(condition.value) in search_form(actual)
    return matches_name(actual, name_prefixes(condition.value))


def _matches_day(condition: Condition, actual: datetime, environment: Environment, clock: Clock) -> bool:
    begin, end = read_day(condition.value, environment, clock)
    if condition.operator == ">":
        return actual >= end
    if condition.operator == ">=":
        return actual >= begin
    if condition.operator == "<":
        return actual < begin
    if condition.operator == "<=":
        return actual < end
    return begin <= actual < end
