"""Dates and times read from people's text (flow format, reading dates and times).

Layouts belong to `flows.layouts`, whose functions can be had from here too.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from flows.environment import Clock, Environment, in_zone_of
from flows.layouts import LayoutError, format_with_layout, move_to_zone, parse_with_layout
from flows.typed import plain

__all__ = ["LayoutError", "format_with_layout", "move_to_zone", "parse_date", "parse_datetime", "parse_time"]
__all__ += ["parse_with_layout"]

MIDNIGHT = time()
# Times nearer to the beginning of the calendar cannot be written in every time zone.
EARLIEST = datetime(1, 1, 3)

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ISO_DATETIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(\.[0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2}:[0-9]{2}:[0-9]{2})"
)
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4}|\d{2})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_SEPARATOR = r"[-./\\_ ]"
_ORDERS = {
    "YYYY-MM-DD": (_YEAR, _MONTH, _DAY),
    "MM-DD-YYYY": (_MONTH, _DAY, _YEAR),
    "DD-MM-YYYY": (_DAY, _MONTH, _YEAR),
}
_DATE_PATTERNS = {name: re.compile(rf"\b{_SEPARATOR.join(order)}\b", re.ASCII) for name, order in _ORDERS.items()}
_TIME = re.compile(
    r"\b(\d{1,2})(?::?(\d{2})(?::(\d{2})(?:\.(\d+))?)?)?\W*([aApP][mM])?\b",
    re.ASCII,
)
# A sign before the year, or letters after the date: the calendar begins with the year 1.
_SIGNED_YEAR = re.compile(r"-[0-9]{4,6}-[0-9]{2}-[0-9]{2}")
_BEFORE_CHRIST = re.compile(r"\s*B\.?\s?C(?:\.?\s?E)?\b", re.IGNORECASE)
# The letter between the date and the time of ISO texts hides the word boundary that a time has to begin at.
_ISO_TIME_MARK = re.compile(r"[Tt](?=[0-9])")


def parse_date(environment: Environment, clock: Clock, text: str) -> date | None:
    """The first date in a text, in the order of the environment's date format; ISO dates always count."""
    found = _find_date(environment, clock, plain(text).strip())
    return found[0] if found else None


def parse_datetime(environment: Environment, clock: Clock, text: str, fill_time: bool = False) -> datetime | None:
    """The first date in a text with the time that follows it, aware; none in the first two days of the calendar.

    A full ISO text keeps its offset, and is in the environment's timezone if that is its offset; everything else is in
    the environment's timezone. Without a time it is midnight, or with `fill_time` the current time of day. It is also
    midnight for what is after the calendar's last day in UTC or here: people mean the day, which never comes.
    """
    trimmed = plain(text).strip()
    written = _read_iso(trimmed)
    moment = in_zone_of(written, environment.zone) if written else _read_local(environment, clock, trimmed, fill_time)
    if moment is None or moment.replace(tzinfo=None) < EARLIEST:
        return None
    zone = environment.zone
    return moment if _is_in_calendar(moment, zone) else datetime.combine(moment.date(), MIDNIGHT, zone)


def find_short_year(environment: Environment, text: str, year: int) -> str:
    """The two digits of a text that were read as a year; an empty string if the text has all four."""
    trimmed = plain(text).strip()
    if _read_iso_date(trimmed[:10]) is not None:
        return ""
    short = f"{year % 100:02}"
    years = (match["year"] for match in _DATE_PATTERNS[environment.date_format].finditer(trimmed))
    return short if next(years, "") == short else ""


def _is_in_calendar(moment: datetime, zone: ZoneInfo) -> bool:
    try:
        moment.astimezone(UTC)
        moment.astimezone(zone)
    except OverflowError:
        return False
    return True


def parse_time(text: str) -> time | None:
    """The first time of day in a text; fractions of a second are cut to microseconds."""
    for match in _TIME.finditer(plain(text)):
        time_of_day = _make_time(match[1], *match.groups()[1:])
        if time_of_day is not None:
            return time_of_day
    return None


def _read_local(environment: Environment, clock: Clock, trimmed: str, fill_time: bool) -> datetime | None:
    found = _find_date(environment, clock, trimmed)
    if found is None:
        return None
    day, rest = found
    time_of_day = parse_time(_ISO_TIME_MARK.sub(" ", rest, count=1) if rest[:1] in ("T", "t") else rest)
    zone = environment.zone
    if time_of_day is None:
        time_of_day = clock.now().astimezone(zone).time() if fill_time else MIDNIGHT
    return move_to_zone(datetime.combine(day, time_of_day, zone), zone)


def _read_iso(text: str) -> datetime | None:
    # RFC 3339 allows `t` and `z` in lower case.
    match = _ISO_DATETIME.fullmatch(text.upper())
    if match is None:
        return None
    seconds = match[1] if match[1].count(":") == 2 else f"{match[1]}:00"
    try:
        return datetime.fromisoformat(f"{seconds}{(match[2] or '')[:7]}{match[3]}")
    except ValueError:
        return None


def _find_date(environment: Environment, clock: Clock, text: str) -> tuple[date, str] | None:
    """The first date of a trimmed text, with the text that follows it."""
    day = _read_iso_date(text[:10])
    if day is not None:
        return None if _BEFORE_CHRIST.match(text, 10) else (day, text[10:])
    if _SIGNED_YEAR.match(text):
        return None
    found = next(_find_local_dates(environment, clock, text), None)
    return None if found is None or _BEFORE_CHRIST.match(found[1]) else found


def _read_iso_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _ISO_DATE.fullmatch(text) else None
    except ValueError:
        return None


def _find_local_dates(environment: Environment, clock: Clock, text: str) -> Iterator[tuple[date, str]]:
    for match in _DATE_PATTERNS[environment.date_format].finditer(text):
        year = _widen_year(match["year"], clock.now().astimezone(environment.zone).year)
        try:
            yield date(year, int(match["month"]), int(match["day"])), text[match.end() :]
        except ValueError:
            continue


def _widen_year(digits: str, current_year: int) -> int:
    year = int(digits)
    if len(digits) == 4:
        return year
    return year + (1900 if year > current_year % 100 else 2000)


def _make_time(hours: str, *rest: str | None) -> time | None:
    minutes, seconds, fraction, half = rest
    hour, minute, second = _shift_hour(int(hours), (half or "").lower()), int(minutes or 0), int(seconds or 0)
    if (hour, minute, second) == (24, 0, 0):
        return MIDNIGHT
    if hour > 23 or minute > 59 or second > 59:
        return None
    return time(hour, minute, second, int((fraction or "")[:6].ljust(6, "0")))


def _shift_hour(hour: int, half: str) -> int:
    if half == "am" and hour == 12:
        return 0
    return hour + 12 if half == "pm" and hour < 12 else hour
