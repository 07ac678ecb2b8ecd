"""What export files contain besides flows: campaigns, triggers, fields and groups (flow format, export files).

What the flows, campaigns and triggers of an export file need (flow format, export files).
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from flows.definition.action_types import fields_of
from flows.definition.exports.selection import Renamed
from flows.definition.flow_texts import read_objects
from flows.definition.model import Flow
from flows.definition.raw_parts import JsonObject, read_text
from flows.definition.reading import load
from flows.definition.references import Reference, find_references
from flows.expressions.scanner import CONTEXT_ROOTS, has_expressions

FILE_VERSION = "13"
SAME_TIME = -1

KEYWORD_TRIGGER = "K"

_LISTED = frozenset({"field", "flow", "global", "group", "label"})


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


@dataclass(frozen=True, slots=True)
class Needs:
    """Each record once, in order of first appearance. Groups and labels of which only the name is known have no UUID;
    fields of which only the key is known have it as their name. The date fields of campaigns have that type, all others
    count as text.
    """

    fields: tuple[ExportedField, ...]
    groups: tuple[Named, ...]
    labels: tuple[Named, ...]
    flows: tuple[Named, ...]
    global_keys: tuple[str, ...]
    others: tuple[Reference, ...]


def list_needs(content: ExportFile) -> Needs:
    """What a file needs in a workspace: everything that its parts refer to, in the file or not."""
    flows = [load(definition) for definition in content.flows]
    references = [*_list_references_around(content), *(reference for flow in flows for reference in _list_all(flow))]
    dates = {event.relative_to.key: event.relative_to for campaign in content.campaigns for event in campaign.events}
    return Needs(
        fields=tuple(dates.get(key) or ExportedField(key, name, "text") for key, name in _list_fields(references)),
        groups=_list_named(references, "group"),
        labels=_list_named(references, "label"),
        flows=_list_named(references, "flow"),
        global_keys=tuple(dict.fromkeys(each.identity for each in references if each.kind == "global")),
        others=tuple(dict.fromkeys(each for each in references if each.kind not in _LISTED)),
    )


def _list_references_around(content: ExportFile) -> Iterator[Reference]:
    for campaign in content.campaigns:
        yield _refer("group", campaign.group)
        for event in campaign.events:
            yield Reference("field", event.relative_to.key, event.relative_to.name, identity_name="key")
            if event.flow:
                yield _refer("flow", event.flow)
    for trigger in content.triggers:
        yield _refer("flow", trigger.flow)
        yield from (_refer("group", group) for group in (*trigger.groups, *trigger.exclude_groups))
        if trigger.channel:
            yield _refer("channel", trigger.channel)


def _refer(kind: str, named: Named) -> Reference:
    return Reference(kind, named.uuid, named.name)


def _list_all(flow: Flow) -> Iterator[Reference]:
    yield from (each.reference for each in find_references(flow).found)
    for node in flow.nodes:
        for action in node.actions:
            for name, each in fields_of(action.type).items():
                if "name_match" in each.match:
                    yield from _list_literal_matches(each.refers_to, action.fields.get(name))


def _list_literal_matches(kind: str, references: object) -> Iterator[Reference]:
    """Names that old flows have instead of UUIDs, unless they are only known when the flow runs."""
    for given in read_objects(references):
        match = read_text(given, "name_match")
        if match and not read_text(given, "uuid") and not has_expressions(match, CONTEXT_ROOTS):
            yield Reference(kind, "", match)


def _list_fields(references: list[Reference]) -> Iterator[tuple[str, str]]:
    names: dict[str, str] = {}
    for each in references:
        if each.kind == "field":
            names[each.identity] = names.get(each.identity) or each.name
    return ((key, name or key) for key, name in names.items())


def _list_named(references: list[Reference], kind: str) -> tuple[Named, ...]:
    found: dict[tuple[str, str], Named] = {}
    for each in references:
        if each.kind == kind:
            # Records with a UUID are identified by it, even if their names differ.
            key = (each.identity, "" if each.identity else each.name.lower())
            found.setdefault(key, Named(each.identity, each.name))
    return tuple(found.values())
