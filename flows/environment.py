"""What a pure engine is given: the time, random numbers and new identifiers, and the settings with which flows read and
write people's text (flow format, environment).

How moments are written and read everywhere: in RFC 3339, whose offsets have whole minutes. Stored state may have more
than six fraction digits.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from os import urandom
from random import SystemRandom
from typing import Any, Protocol, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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


DATE_FORMATS = ("YYYY-MM-DD", "MM-DD-YYYY", "DD-MM-YYYY")
COLLATIONS = ("default", "confusables", "arabic_variants")
REDACTION_POLICIES = ("none", "urns")


class EnvironmentSettingError(ValueError):
    """A setting of an environment has a value outside its list."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How people of a workspace write numbers."""

    decimal_symbol: str = "."
    digit_grouping_symbol: str = ","


@dataclass(frozen=True, slots=True)
class Environment:
    """Formats, timezone, languages and country of a workspace, or of one contact while a session runs.

    Languages are three-letter ISO 639-3 codes, the country a two-letter ISO 3166 code or empty, the timezone a name
    of the IANA database.
    """

    date_format: str = "YYYY-MM-DD"
    time_format: str = "tt:mm"
    timezone: str = "UTC"
    allowed_languages: tuple[str, ...] = ()
    default_country: str = ""
    number_format: NumberFormat = NumberFormat()
    input_collation: str = "default"
    redaction_policy: str = "none"

    def __post_init__(self) -> None:
        # Any time layout is accepted: stored sessions of older hosts contain layouts outside the list, such as "hh:mm".
        for name, value, allowed in (
            ("date_format", self.date_format, DATE_FORMATS),
            ("input_collation", self.input_collation, COLLATIONS),
            ("redaction_policy", self.redaction_policy, REDACTION_POLICIES),
        ):
            if value not in allowed:
                raise EnvironmentSettingError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")

    @property
    def zone(self) -> ZoneInfo:
        """The timezone; raises ZoneInfoNotFoundError for a name that does not exist."""
        return ZoneInfo(self.timezone)

    @property
    def default_language(self) -> str:
        """The first allowed language, or empty text."""
        return self.allowed_languages[0] if self.allowed_languages else ""

    @property
    def redacts_urns(self) -> bool:
        """Whether URNs of contacts must not be shown or searched."""
        return self.redaction_policy == "urns"

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> Self:
        """Reads the form that sessions store; missing or null settings take their defaults."""
        given = {name: settings[name] for name in _PLAIN_SETTINGS if settings.get(name) is not None}
        if settings.get("allowed_languages"):
            given["allowed_languages"] = tuple(settings["allowed_languages"])
        if settings.get("number_format"):
            symbols = settings["number_format"]
            known = {name: symbols[name] for name in NumberFormat.__dataclass_fields__ if symbols.get(name) is not None}
            given["number_format"] = NumberFormat(**known)
        return cls(**given)

    def to_json(self) -> dict[str, Any]:
        """The form that sessions store; languages and country are left out when there are none."""
        written: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN_SETTINGS}
        written["allowed_languages"] = list(self.allowed_languages)
        written["number_format"] = {
            "decimal_symbol": self.number_format.decimal_symbol,
            "digit_grouping_symbol": self.number_format.digit_grouping_symbol,
        }
        return {name: value for name, value in written.items() if value}


def is_timezone(name: str) -> bool:
    """Whether a text is the IANA name of a timezone."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


_PLAIN_SETTINGS = ("date_format", "time_format", "timezone", "default_country", "input_collation", "redaction_policy")
