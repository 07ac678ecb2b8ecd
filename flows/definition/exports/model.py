"""What export files contain besides flows: campaigns, triggers, fields and groups (flow format, export files)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from flows.definition.exports.cleaning import Renamed
from flows.definition.raw_parts import JsonObject

FILE_VERSION = "13"
SAME_TIME = -1


class ExportError(ValueError):
    """An export file cannot be read; `place` leads to the invalid part, like `campaigns[0].events[2].unit`."""

    def __init__(self, message: str, place: str = "") -> None:
        self.message = message
        self.place = place
        super().__init__(f"{place}: {message}" if place else message)


@dataclass(frozen=True, slots=True)
class _Plain:
    def to_json(self) -> JsonObject:
        """The form of export files."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Named(_Plain):
    """A reference. The UUID is empty in old files, where some records are referred to by name only."""

    uuid: str
    name: str


@dataclass(frozen=True, slots=True)
class ExportedField(_Plain):
    """A field of contacts; types are text, number, datetime, state, district and ward."""

    key: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ExportedGroup(_Plain):
    """A group; without a query its members are added manually. The UUID is empty if only the name is known."""

    uuid: str
    name: str
    query: str | None = None


@dataclass(frozen=True, slots=True)
class ExportedEvent:
    """An event of a campaign: a flow is started, or a message with texts by language is sent.

    It is due `offset` units (`M` minutes, `H` hours, `D` days, `W` weeks) from the date in a field; `delivery_hour` is
    0 to 23, or -1 for the same time of day.
    """

    uuid: str
    offset: int
    unit: str
    delivery_hour: int
    relative_to: ExportedField
    start_mode: str
    flow: Named | None = None
    message: Mapping[str, str] | None = None
    base_language: str = ""

    def to_json(self) -> JsonObject:
        """The form of export files."""
        written: JsonObject = {
            "uuid": self.uuid,
            "offset": self.offset,
            "unit": self.unit,
            "event_type": "F" if self.flow else "M",
            "delivery_hour": self.delivery_hour,
            "message": dict(self.message) if self.message else None,
            "relative_to": {"label": self.relative_to.name, "key": self.relative_to.key},
            "start_mode": self.start_mode,
        }
        if self.flow:
            return {**written, "flow": self.flow.to_json()}
        return {**written, "base_language": self.base_language}


@dataclass(frozen=True, slots=True)
class ExportedCampaign:
    """A campaign of a group with its events."""

    uuid: str
    name: str
    group: Named
    events: tuple[ExportedEvent, ...]

    def to_json(self) -> JsonObject:
        """The form of export files."""
        return {
            "uuid": self.uuid,
            "name": self.name,
            "group": self.group.to_json(),
            "events": [event.to_json() for event in self.events],
        }


KEYWORD_TRIGGER = "K"


@dataclass(frozen=True, slots=True)
class ExportedTrigger:
    """What starts a flow, by the letter of its type; `K` by keywords, with `match_type` for their position in the
    message."""

    type: str
    flow: Named
    channel: Named | None = None
    groups: tuple[Named, ...] = ()
    exclude_groups: tuple[Named, ...] = ()
    keywords: tuple[str, ...] = ()
    match_type: str = ""

    def to_json(self) -> JsonObject:
        """The form of export files."""
        written: JsonObject = {
            "trigger_type": self.type,
            "flow": self.flow.to_json(),
            "channel": self.channel.to_json() if self.channel else None,
            "groups": [group.to_json() for group in self.groups],
            "exclude_groups": [group.to_json() for group in self.exclude_groups],
        }
        if self.type == KEYWORD_TRIGGER:
            written |= {"keywords": list(self.keywords), "match_type": self.match_type}
        return written


@dataclass(frozen=True, slots=True)
class SkippedTrigger:
    """A trigger that cannot be imported, and why; `flow` is its reference as in the file."""

    type: str
    flow: JsonObject
    problem: str

    def to_json(self) -> JsonObject:
        """The form in which imports report it."""
        return {"trigger_type": self.type, "flow": self.flow, "problem": self.problem}


@dataclass(frozen=True, slots=True)
class ExportFile:
    """An export file. `flows` are definitions, of the newest version when the file was read.

    `fields` and `groups` are those that the file lists; for those that it only uses see `list_needs`. `renamed` says
    which names were cleaned, `skipped` which triggers cannot be read; neither is written.
    """

    site: str
    flows: tuple[Mapping[str, Any], ...] = ()
    campaigns: tuple[ExportedCampaign, ...] = ()
    triggers: tuple[ExportedTrigger, ...] = ()
    fields: tuple[ExportedField, ...] = ()
    groups: tuple[ExportedGroup, ...] = ()
    renamed: tuple[Renamed, ...] = field(default=(), compare=False)
    skipped: tuple[SkippedTrigger, ...] = field(default=(), compare=False)

    def to_json(self) -> JsonObject:
        """The file as it is written."""
        return {
            "version": FILE_VERSION,
            "site": self.site,
            "flows": [dict(flow) for flow in self.flows],
            "campaigns": [campaign.to_json() for campaign in self.campaigns],
            "triggers": [trigger.to_json() for trigger in self.triggers],
            "fields": [field.to_json() for field in self.fields],
            "groups": [group.to_json() for group in self.groups],
        }
