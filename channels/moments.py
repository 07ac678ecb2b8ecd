"""Reads a time as providers write it, in any usual form."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from channels.reading import EARLIEST, LATEST, moment

DAY_FIRST = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?"
    r"\s*(Z|UTC|[+-]\d{2}:?\d{2})?\Z",
    re.IGNORECASE,
)
COMPACT = re.compile(r"(20\d{2})(\d{2})(\d{2})T?(\d{2})(\d{2})(\d{2})Z?\Z", re.IGNORECASE)
LOST_PLUS = re.compile(r"(?<=:\d\d) (?=\d\d:?\d\d\Z)")
LONGEST = 64
MOST_MONTHS = 12


def read_moment(value: Any) -> datetime | None:
    """A time by RFC 3339 or 5322, in seconds or milliseconds since 1970, as `YYYYMMDDHHMMSS`, or with the day before
    the month where that cannot be meant otherwise; in UTC if it names no offset. None for what nobody can mean: no
    message is lost for its date.
    """
    if not isinstance(value, str):
        return moment(value)
    text = value.strip()[:LONGEST]
    compact = COMPACT.match(text)
    if compact is not None:
        return _made([int(each) for each in compact.groups()])
    # A plus sign in a query is a space once it is decoded.
    return moment(text) or moment(LOST_PLUS.sub("+", text)) or _day_first(text) or _of_mail(text)


def _day_first(text: str) -> datetime | None:
    written = DAY_FIRST.match(text)
    if written is None:
        return None
    day, month, year, *time = (int(written[place] or 0) for place in (1, 3, 4, 5, 6, 7))
    if written[2] != "." and day != month and max(day, month) <= MOST_MONTHS:
        return None  # nobody knows which is the day; only with full stops it is always the first
    if month > MOST_MONTHS:
        day, month = month, day
    return _made([year, month, day, *time], written[8] or "")


def _of_mail(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return found if EARLIEST <= found < LATEST else None


def _made(numbers: list[int], offset: str = "") -> datetime | None:
    year, month, day, hour, minute, second = numbers
    try:
        found = datetime(year, month, day, hour, minute, second, tzinfo=_zone(offset)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if EARLIEST <= found < LATEST else None


def _zone(offset: str) -> timezone:
    if not offset or offset.upper() in ("Z", "UTC"):
        return UTC
    digits = offset[1:].replace(":", "")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(ahead if offset[0] == "+" else -ahead)
