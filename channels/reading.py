"""Reads JSON that strangers wrote: what has the expected form, and something empty instead of anything else."""

from datetime import UTC, datetime
from typing import Any

EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
UNITS = (1, 1e3, 1e6, 1e9)
"""Unix times are in seconds, or in milliseconds and less."""


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
    """A Unix time, as number or digits, in the unit that makes it a time of this century; or a text by ISO 8601, with a
    space or `T`, in UTC if it names no offset. A time that nobody can mean is None: no message is lost for its date.
    """
    try:
        found = _unix(float(value)) if _is_number(value) else _written(str(value or "").strip())
    except (ValueError, OverflowError):
        return None
    return found if found is not None and EARLIEST <= found < LATEST else None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and value.isascii() and value.isdecimal())


def _unix(number: float) -> datetime | None:
    seconds = next((number / unit for unit in UNITS if number / unit < LATEST.timestamp()), None)
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _written(text: str) -> datetime:
    found = datetime.fromisoformat(text.upper())
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
