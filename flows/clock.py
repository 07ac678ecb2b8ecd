"""The three inputs that a pure engine needs: the time, random numbers, and new identifiers.

How moments are written and read everywhere: in RFC 3339, whose offsets have whole minutes. Stored state may have more
than six fraction digits.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from os import urandom
from random import SystemRandom
from typing import Protocol

RANDOM_DIGITS = 16

MINUTE = timedelta(minutes=1)
_FINE_DIGITS = re.compile(r"(\.\d{6})\d+")


class Clock(Protocol):
    """Everything that makes two runs of the same flow differ; replace it to replay a conversation."""

    def now(self) -> datetime:
        """The current time, aware and in UTC."""

    def random(self) -> Decimal:
        """A number that is at least 0 and less than 1."""

    def uuid(self) -> str:
        """A new UUID as lower-case text with hyphens."""


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The system's clock, random numbers and identifiers, for hosts."""

    def now(self) -> datetime:
        """The current time in UTC."""
        return datetime.now(UTC)

    def random(self) -> Decimal:
        """A number in [0, 1) with sixteen digits."""
        return Decimal(SystemRandom().randrange(10**RANDOM_DIGITS)).scaleb(-RANDOM_DIGITS)

    def uuid(self) -> str:
        """A random (version 4) UUID."""
        digits = urandom(16).hex()
        # Written by hand, because the uuid module takes four times as long; 4 is the version, followed by the variant.
        variant = "89ab"[int(digits[16], 16) & 3]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


SYSTEM_CLOCK = SystemClock()


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
