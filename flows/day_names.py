"""Names of days, months and halves of the day, in the default language of an environment."""

from __future__ import annotations

from babel import Locale

from flows.environment import Environment
from flows.languages import find_locale

NOON_HOUR = 12


def month_name(environment: Environment, month: int, *, is_short: bool) -> str:
    """The name of a month, January being 1, as it is written in dates."""
    return str(_locale(environment).months["format"]["abbreviated" if is_short else "wide"][month])


def day_name(environment: Environment, weekday: int, *, is_short: bool) -> str:
    """The name of a day of the week, Monday being 0."""
    return str(_locale(environment).days["format"]["abbreviated" if is_short else "wide"][weekday])


def day_period(environment: Environment, hour: int) -> str:
    """The word for the half of the day that an hour of 0 to 23 belongs to."""
    half = "am" if hour < NOON_HOUR else "pm"
    return str(_locale(environment).day_periods["format"]["wide"].get(half, half))


def _locale(environment: Environment) -> Locale:
    return find_locale(environment.default_language, environment.default_country)
