"""How moments are written and read everywhere: in RFC 3339, whose offsets have whole minutes. Stored state may have
more than six fraction digits."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

MINUTE = timedelta(minutes=1)
_FINE_DIGITS = re.compile(r"(\.\d{6})\d+")


def parse_moment(text: str) -> datetime | None:
    """An aware datetime from an ISO string, cut to microseconds; None for anything else. Without an offset it is
    UTC."""
    try:
        moment = datetime.fromisoformat(_FINE_DIGITS.sub(r"\1", text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def write_moment(moment: datetime) -> str:
    """A moment with microseconds, and `Z` or its offset: always the same moment, also in zones before standard time."""
    if moment.tzinfo is UTC:
        return moment.isoformat("T", "microseconds")[:-6] + "Z"
    moment = in_whole_minutes(moment)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + (write_offset(moment) or "Z")


def write_offset(moment: datetime, separator: str = ":") -> str:
    """The offset from UTC as `+hh:mm`; empty for UTC."""
    offset = in_whole_minutes(moment).utcoffset()
    if not offset:
        return ""
    hours, minutes = divmod(abs(offset) // MINUTE, 60)
    return f"{'-' if offset < timedelta() else '+'}{hours:02d}{separator}{minutes:02d}"


def in_whole_minutes(moment: datetime) -> datetime:
    """The same moment with an offset that can be written. Clocks before standard time differed by seconds: the next
    minute up keeps the day of a midnight, as which birthdays are stored."""
    offset = moment.utcoffset()
    if offset is None or not offset % MINUTE:
        return moment
    try:
        return moment.astimezone(timezone(-(-offset // MINUTE) * MINUTE))
    except OverflowError:
        return moment.replace(tzinfo=timezone(-(-offset // MINUTE) * MINUTE))


def in_zone_of(moment: datetime, zone: tzinfo) -> datetime:
    """The same moment in a zone, if its offset is what the zone's was then; otherwise unchanged. What was written with
    an offset has lost its zone, and with it the changes of clocks."""
    try:
        local = moment.astimezone(zone)
    except OverflowError:
        return moment
    return local if in_whole_minutes(local).utcoffset() == moment.utcoffset() else moment
