"""Layouts of dates and times, such as `YYYY-MM-DD tt:mm` (flow format, layouts).

Names of days, months and halves of the day, in the default language of an environment.

The table beside this module has the names that most systems write, by language or by language and country; it was made
from the locale data of the GNU C library, in which its authors claim no copyright. Languages that are not in it have
the names of CLDR.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

import re2

from flows.environment import Environment, in_whole_minutes, write_offset
from flows.typed import plain

if TYPE_CHECKING:
    from babel import Locale

Kind = Literal["date", "time", "datetime"]

PASSED_THROUGH = frozenset(" :/.,T-_")
DATE_SEQUENCES = frozenset(("YY", "YYYY", "M", "MM", "MMM", "MMMM", "D", "DD", "EEE", "EEEE"))
TIME_SEQUENCES = frozenset(("h", "hh", "t", "tt", "m", "mm", "s", "ss", "fff", "ffffff", "fffffffff", "aa", "AA"))
ZONE_SEQUENCES = frozenset(("Z", "ZZZ"))
SEQUENCES = {
    "date": DATE_SEQUENCES,
    "time": TIME_SEQUENCES,
    "datetime": DATE_SEQUENCES | TIME_SEQUENCES | ZONE_SEQUENCES,
}
ONLY_FORMATTED = frozenset(("MMM", "MMMM", "EEE", "EEEE"))
CENTURY_PIVOT = 69
LAYOUT_LENGTH_MAX = 200

_RUNS = re.compile(r"(.)\1*", re.DOTALL)
_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")
_READ_PATTERNS = {
    "YY": "(?P<short_year>[0-9]{2})",
    "YYYY": "(?P<year>[0-9]{4})",
    "M": "(?P<month>[0-9]{1,2})",
    "MM": "(?P<month>[0-9]{2})",
    "D": "(?P<day>[0-9]{1,2})",
    "DD": "(?P<day>[0-9]{2})",
    "h": "(?P<half_day_hour>[0-9]{1,2})",
    "hh": "(?P<half_day_hour>[0-9]{2})",
    "t": "(?P<hour>[0-9]{1,2})",
    # Unlike other padded parts, hours of the day may be read with a single digit: people write 9:30.
    "tt": "(?P<hour>[0-9]{1,2})",
    "m": "(?P<minute>[0-9]{1,2})",
    "mm": "(?P<minute>[0-9]{2})",
    "s": "(?P<second>[0-9]{1,2})",
    "ss": "(?P<second>[0-9]{2})",
    "fff": "(?P<fraction>[0-9]{3})",
    "ffffff": "(?P<fraction>[0-9]{6})",
    "fffffffff": "(?P<fraction>[0-9]{9})",
    "aa": "(?P<half>[aApP][mM])",
    "AA": "(?P<half>[aApP][mM])",
    "Z": "(?P<offset>Z|[+-][0-9]{2}:[0-9]{2})",
    "ZZZ": "(?P<offset>Z|[+-][0-9]{2}:[0-9]{2})",
}

NOON_HOUR = 12


@dataclass(frozen=True, slots=True)
class DayNames:
    """Names in one language: weeks begin on Monday, months with January; `halves` are before and after noon."""

    days: Sequence[str]
    short_days: Sequence[str]
    months: Sequence[str]
    short_months: Sequence[str]
    halves: Sequence[str] = ("AM", "PM")


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


_WRITERS: dict[str, Callable[[datetime, Environment], str]] = {
    "YY": lambda value, _: f"{value.year % 100:02}",
    "YYYY": lambda value, _: f"{value.year:04}",
    "M": lambda value, _: str(value.month),
    "MM": lambda value, _: f"{value.month:02}",
    "MMM": lambda value, environment: month_name(environment, value.month, is_short=True),
    "MMMM": lambda value, environment: month_name(environment, value.month, is_short=False),
    "D": lambda value, _: str(value.day),
    "DD": lambda value, _: f"{value.day:02}",
    "EEE": lambda value, environment: day_name(environment, value.weekday(), is_short=True),
    "EEEE": lambda value, environment: day_name(environment, value.weekday(), is_short=False),
    "h": lambda value, _: str(value.hour % 12 or 12),
    "hh": lambda value, _: f"{value.hour % 12 or 12:02}",
    "t": lambda value, _: str(value.hour),
    "tt": lambda value, _: f"{value.hour:02}",
    "m": lambda value, _: str(value.minute),
    "mm": lambda value, _: f"{value.minute:02}",
    "s": lambda value, _: str(value.second),
    "ss": lambda value, _: f"{value.second:02}",
    "fff": lambda value, _: f"{value.microsecond // 1000:03}",
    "ffffff": lambda value, _: f"{value.microsecond:06}",
    "fffffffff": lambda value, _: f"{value.microsecond:06}000",
    "aa": lambda value, environment: day_period(environment, value.hour).lower(),
    "AA": lambda value, environment: day_period(environment, value.hour).upper(),
    "Z": lambda value, _: write_offset(value) or "Z",
    "ZZZ": lambda value, _: write_offset(value) or "+00:00",
}


class LayoutError(ValueError):
    """A layout has an invalid sequence, or a text is not written in the layout."""


def format_with_layout(value: datetime | date | time, layout: str, environment: Environment, kind: Kind) -> str:
    """Writes a datetime, date or time of day; names are in the environment's default language. Raises LayoutError."""
    parts = _split(layout, SEQUENCES[kind], f"{kind} formatting")
    moment = _make_moment(value)
    if not ZONE_SEQUENCES.isdisjoint(parts):
        moment = in_whole_minutes(moment)
    return "".join(_WRITERS[part](moment, environment) if part in _WRITERS else part for part in parts)


def parse_with_layout(text: str, layout: str, zone: ZoneInfo, kind: Kind) -> datetime | date | time:
    """Reads a text that is written exactly in a layout; a fraction of a second may always follow the seconds.

    Datetimes come back in the given timezone. Raises LayoutError.
    """
    parts = _split(layout, SEQUENCES[kind] - ONLY_FORMATTED, f"{kind} parsing")
    found = _compile_parts(parts).fullmatch(text)
    if found is None and not text.isascii():
        found = _compile_parts(list(map(plain, parts))).fullmatch(plain(text).strip())
    if found is None:
        raise LayoutError(f"{text!r} is not written as {layout!r}")
    values = {name: value for name, value in found.groupdict().items() if value}
    try:
        return _combine(values, zone, kind)
    except (ValueError, OverflowError) as error:
        raise LayoutError(f"{text!r} is out of range") from error


def move_to_zone(moment: datetime, zone: ZoneInfo) -> datetime:
    """Moves an aware datetime into a timezone; a time that its clocks skipped moves on by the gap."""
    try:
        return moment.astimezone(UTC).astimezone(zone)
    except OverflowError:
        return moment


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


def _split(layout: str, allowed: frozenset[str], use: str) -> list[str]:
    if len(layout) > LAYOUT_LENGTH_MAX:
        raise LayoutError(f"a {use} layout has at most {LAYOUT_LENGTH_MAX} characters")
    parts = [match.group() for match in _RUNS.finditer(layout)]
    for part in parts:
        if part[0] not in PASSED_THROUGH and part not in allowed:
            raise LayoutError(f"'{part}' is not valid in a {use} layout")
    return parts


def _compile_parts(parts: list[str]) -> Any:
    pattern, seen = "", set()
    for position, part in enumerate(parts):
        reading = _READ_PATTERNS.get(part)
        if reading is None:
            pattern += re.escape(part)
            continue
        name = reading[len("(?P<") : reading.index(">")]
        # A part that occurs twice in the layout must occur twice in the text, but only the first one counts.
        pattern += reading if name not in seen else reading.replace(f"?P<{name}>", "?:")
        seen.add(name)
        has_own_fraction = any(later.startswith("f") for later in parts[position:])
        if name == "second" and not has_own_fraction and "loose_fraction" not in seen:
            pattern += r"(?:\.(?P<loose_fraction>[0-9]+))?"
            seen.add("loose_fraction")
    # RE2, because people write layouts, and adjacent optional digits take exponential time in other engines.
    return re2.compile(pattern)


def _combine(values: dict[str, str], zone: ZoneInfo, kind: Kind) -> datetime | date | time:
    time_of_day = _combine_time(values)
    if kind == "time":
        return time_of_day
    day = date(_combine_year(values), int(values.get("month", 1)), int(values.get("day", 1)))
    if kind == "date":
        return day
    offset = values.get("offset")
    if offset:
        return move_to_zone(datetime.combine(day, time_of_day, UTC) - _read_offset(offset), zone)
    return move_to_zone(datetime.combine(day, time_of_day, zone), zone)


def _combine_year(values: dict[str, str]) -> int:
    if "year" in values:
        return int(values["year"])
    if "short_year" in values:
        year = int(values["short_year"])
        return year + (1900 if year >= CENTURY_PIVOT else 2000)
    return 1


def _combine_time(values: dict[str, str]) -> time:
    if int(values.get("half_day_hour", 0)) > 12:
        raise ValueError("an hour of half a day is at most 12")
    hour = int(values.get("hour") or values.get("half_day_hour") or 0)
    half = values.get("half", "").lower()
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    fraction = values.get("fraction") or values.get("loose_fraction") or ""
    return time(hour, int(values.get("minute", 0)), int(values.get("second", 0)), int(fraction[:6].ljust(6, "0")))


def _read_offset(offset: str) -> timedelta:
    found = _OFFSET.fullmatch(offset)
    if found is None:
        return timedelta()
    distance = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return -distance if found[1] == "-" else distance


def _make_moment(value: datetime | date | time) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, time):
        return datetime.combine(date(1, 1, 1), value)
    return datetime.combine(value, time())
