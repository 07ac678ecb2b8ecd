"""Reads the times in stored state, which may have more than six fraction digits."""

import re
from datetime import UTC, datetime

_FINE_DIGITS = re.compile(r"(\.\d{6})\d+")


def parse_moment(text: str) -> datetime | None:
    """An aware datetime from an ISO string, cut to microseconds; None for anything else. Without an offset it is
    UTC."""
    try:
        moment = datetime.fromisoformat(_FINE_DIGITS.sub(r"\1", text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
