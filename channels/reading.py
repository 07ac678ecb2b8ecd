"""Reads JSON that strangers wrote: what has the expected form, and something empty instead of anything else."""

import mimetypes
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from channels.calls import Media, Request, Response, Settings, Unread

EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
UNITS = (1, 1e3, 1e6, 1e9)
"""Unix times are in seconds, or in milliseconds and less."""
DAY_FIRST = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?"
    r"\s*(Z|UTC|[+-]\d{2}:?\d{2})?\Z",
    re.IGNORECASE,
)
COMPACT = re.compile(r"(20\d{2})(\d{2})(\d{2})T?(\d{2})(\d{2})(\d{2})Z?\Z", re.IGNORECASE)
LOST_PLUS = re.compile(r"(?<=:\d\d) (?=\d\d:?\d\d\Z)")
LONGEST_MOMENT = 64
MOST_MONTHS = 12


def mapping(value: Any) -> dict[str, Any]:
    """An object."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """The objects in a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def word(value: Any) -> str:
    """A text, or a number as text."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def moment(value: Any) -> datetime | None:
    """A time by RFC 3339 or 5322, in seconds since 1970 or a smaller unit, as `YYYYMMDDHHMMSS`, or with the day before
    the month where that cannot be meant otherwise; in UTC if it names no offset. None for what nobody can mean: no
    message is lost for its date.
    """
    if not isinstance(value, str):
        return _plain(value)
    text = value.strip()[:LONGEST_MOMENT]
    compact = COMPACT.match(text)
    if compact is not None:
        return _made([int(each) for each in compact.groups()])
    # A plus sign in a query is a space once it is decoded.
    return _plain(text) or _plain(LOST_PLUS.sub("+", text)) or _day_first(text) or _of_mail(text)


def _plain(value: Any) -> datetime | None:
    """A Unix time in the unit that makes it one of this century, or a text by ISO 8601."""
    try:
        found = _unix(float(value)) if _is_number(value) else _written(str(value or ""))
    except (ValueError, OverflowError):
        return None
    return found if found is not None and EARLIEST <= found < LATEST else None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and value.isascii() and value.isdecimal())


def _unix(number: float) -> datetime | None:
    seconds = next((number / unit for unit in UNITS if number / unit < LATEST.timestamp()), None)
    if seconds is None or seconds < EARLIEST.timestamp():
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _written(text: str) -> datetime:
    found = datetime.fromisoformat(text.upper())
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


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


def path_of(url: str) -> str:
    """The path of a URL; empty for what is none."""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def linked_file(url: str, usual: str) -> Media:
    """A file whose URL is public but ends soon, so that it is fetched: of the media type that its name says, or of the
    usual one of its kind."""
    found = mimetypes.guess_type(path_of(url))[0] or ""
    kind = usual.partition("/")[0]
    is_of_kind = found.startswith(f"{kind}/") or (kind == "application" and bool(found))
    return Media(found if is_of_kind else usual, reference=url)


def fetch_linked(media: Media, settings: Settings, responses: Sequence[Response]) -> Request | None:
    """Gets such a file, wherever its URL leads. Raises Unread."""
    url = follow(media.reference, responses)
    return None if url is None else Request("GET", url)


def follow(url: str, responses: Sequence[Response]) -> str | None:
    """Where these responses have sent on to from a URL; None if the last one sends nowhere. Raises Unread for what is
    no URL."""
    try:
        for response in responses:
            if not 300 <= response.status < 400:
                return None
            url = urljoin(url, response.headers.get("location", ""))
        urlsplit(url)
    except ValueError as error:
        raise Unread("The address of the file leads to what is no URL.") from error
    return url
