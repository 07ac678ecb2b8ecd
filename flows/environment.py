"""The settings with which flows read and write people's text (flow format, environment)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
