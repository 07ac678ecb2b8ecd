"""Reads JSON that strangers wrote: what has the expected form, and something empty instead of anything else."""

import mimetypes
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from channels.calls import Media, Request, Response, Settings

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


def linked_file(url: str, usual: str) -> Media:
    """A file whose URL is public but ends soon, so that it is fetched: of the media type that its name says, or of the
    usual one of its kind."""
    found = mimetypes.guess_type(urlsplit(url).path)[0] or ""
    kind = usual.partition("/")[0]
    is_of_kind = found.startswith(f"{kind}/") or (kind == "application" and bool(found))
    return Media(found if is_of_kind else usual, reference=url)


def fetch_linked(media: Media, settings: Settings, responses: Sequence[Response]) -> Request | None:
    """Gets such a file, wherever its URL leads."""
    url = media.reference
    for response in responses:
        if not 300 <= response.status < 400:
            return None
        url = urljoin(url, response.headers.get("location", ""))
    return Request("GET", url)
