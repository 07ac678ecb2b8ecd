"""Names of days, months and halves of the day, in the default language of an environment.

The table beside this module has the names that most systems write, by language or by language and country; it was made
from the locale data of the GNU C library, in which its authors claim no copyright. Languages that are not in it have
the names of CLDR.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from flows.environment import Environment

if TYPE_CHECKING:
    from babel import Locale

NOON_HOUR = 12


@dataclass(frozen=True, slots=True)
class DayNames:
    """Names in one language: weeks begin on Monday, months with January; `halves` are before and after noon."""

    days: Sequence[str]
    short_days: Sequence[str]
    months: Sequence[str]
    short_months: Sequence[str]
    halves: Sequence[str] = ("AM", "PM")


def month_name(environment: Environment, month: int, *, is_short: bool) -> str:
    """The name of a month, January being 1, as it is written in dates."""
    names = _names_of(environment)
    return (names.short_months if is_short else names.months)[month - 1]


def day_name(environment: Environment, weekday: int, *, is_short: bool) -> str:
    """The name of a day of the week, Monday being 0."""
    names = _names_of(environment)
    return (names.short_days if is_short else names.days)[weekday]


def day_period(environment: Environment, hour: int) -> str:
    """The word for the half of the day that an hour of 0 to 23 belongs to."""
    return _names_of(environment).halves[0 if hour < NOON_HOUR else 1]


def _names_of(environment: Environment) -> DayNames:
    return _find_names(environment.default_language or "eng", environment.default_country)


@lru_cache(maxsize=64)
def _find_names(language: str, country: str) -> DayNames:
    table = _load_table()
    known = table.get(f"{language}-{country}") or table.get(language)
    # Where several countries write the same names, one line has them and the others say which.
    known = table[known] if isinstance(known, str) else known
    if known:
        return DayNames(**known)
    from flows.locales import find_locale  # noqa: PLC0415  # it loads much, and most languages are in the table

    return _read_locale(find_locale(language, country))


@cache
def _load_table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(files("flows").joinpath("day_names.json").read_text(encoding="utf-8"))
    return table


def _read_locale(locale: "Locale") -> DayNames:
    days, months = locale.days["format"], locale.months["format"]
    halves = locale.day_periods["format"]["wide"]
    return DayNames(
        days=[days["wide"][day] for day in range(7)],
        short_days=[days["abbreviated"][day] for day in range(7)],
        months=[months["wide"][month] for month in range(1, 13)],
        short_months=[months["abbreviated"][month] for month in range(1, 13)],
        halves=[halves.get("am", "AM"), halves.get("pm", "PM")],
    )
