"""Reads the times in callbacks. A time that nobody can mean is None: a message is never lost for its date."""

from datetime import UTC, datetime
from typing import Any

EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
UNITS = (1, 1e3, 1e6, 1e9)
"""Unix times are in seconds, or in milliseconds and less."""


def read_moment(value: Any) -> datetime | None:
    """A Unix time, as number or digits, in the unit that makes it a time of this century; or a text by ISO 8601, with a
    space or `T`, in UTC if it names no offset."""
    try:
        moment = _unix(float(value)) if _is_number(value) else _written(str(value or "").strip())
    except (ValueError, OverflowError):
        return None
    return moment if moment is not None and EARLIEST <= moment < LATEST else None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and value.isascii() and value.isdecimal())


def _unix(number: float) -> datetime | None:
    seconds = next((number / unit for unit in UNITS if number / unit < LATEST.timestamp()), None)
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _written(text: str) -> datetime:
    moment = datetime.fromisoformat(text.upper())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
