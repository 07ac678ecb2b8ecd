"""Which flows, campaigns and triggers go together into an export file (flow format, definitions endpoint).

Turns names in export files into names that a workspace can have (flow format, export files).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from flows.definition.raw_parts import JsonObject, list_objects

_Part = tuple[str, str]

NAME_LENGTH, FIELD_NAME_LENGTH = 64, 36
PEOPLE = frozenset({"assignee", "contact", "contacts"})
REPLACED = str.maketrans({'"': "'", "\\": "/", "\x00": None})


class Dependencies(Enum):
    """What else is included: nothing, flows and their triggers, or also campaigns."""

    NONE = "none"
    FLOWS = "flows"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class CampaignParts:
    """The references of a campaign: the UUIDs of its group and of the flows that it starts."""

    group_uuid: str
    flow_uuids: frozenset[str]


@dataclass(frozen=True, slots=True)
class WorkspaceParts:
    """The parts of a workspace that can be exported, and their connections. Keys are UUIDs, those of triggers any
    string."""

    flows: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The flows that a flow enters or starts."""
    groups_of_flows: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The groups that a flow uses."""
    campaigns: Mapping[str, CampaignParts] = field(default_factory=dict)
    triggers: Mapping[str, str] = field(default_factory=dict)
    """The flow that a trigger starts."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The content of an export file, in the order of the workspace."""

    flows: tuple[str, ...]
    campaigns: tuple[str, ...]
    triggers: tuple[str, ...]


def select_parts(
    parts: WorkspaceParts, flows: Collection[str], campaigns: Collection[str], dependencies: Dependencies
) -> Selection:
    """Selects the requested parts and those connected with them, in both directions; unknown UUIDs are skipped. A flow
    and a campaign are connected if the campaign starts the flow, or the flow uses the campaign's group.
    """
    asked: set[_Part] = {("flow", uuid) for uuid in flows} | {("campaign", uuid) for uuid in campaigns}
    if dependencies is not Dependencies.NONE:
        asked |= {("flow", uuid) for each in campaigns if each in parts.campaigns for uuid in _flows_of(parts, each)}
        asked = _follow(asked, _list_links(parts, dependencies))
    return Selection(
        tuple(uuid for uuid in parts.flows if ("flow", uuid) in asked),
        tuple(uuid for uuid in parts.campaigns if ("campaign", uuid) in asked),
        tuple(key for key in parts.triggers if ("trigger", key) in asked),
    )


@dataclass(frozen=True, slots=True)
class Renamed:
    """A name in a file and the name used instead; `kind` is `flow`, `campaign`, `group` or `field`."""

    kind: str
    name: str
    new_name: str

    def to_json(self) -> dict[str, str]:
        """The form in which imports report it."""
        return {"type": self.kind, "name": self.name, "new_name": self.new_name}


def clean_name(name: str, length: int = NAME_LENGTH) -> str:
    """The name without white space around it, cut to `length`, with `'` and `/` for quotes and backslashes and without
    NUL.

    >>> clean_name(' The "first" flow')
    "The 'first' flow"
    """
    return name.translate(REPLACED).strip()[:length].strip()


def clean_names(content: JsonObject) -> tuple[Renamed, ...]:
    """Cleans the names in an export file, in place; returns what was renamed, without references to it."""
    renamed = [each for kind, part, length in _list_named(content) for each in _clean(kind, part, length)]
    for reference in _list_references(content):
        for _ in _clean("", reference, NAME_LENGTH):
            pass
    return tuple(dict.fromkeys(renamed))


def _flows_of(parts: WorkspaceParts, campaign: str) -> frozenset[str]:
    return parts.campaigns[campaign].flow_uuids


def _list_links(parts: WorkspaceParts, dependencies: Dependencies) -> Iterator[tuple[_Part, _Part]]:
    for flow, others in parts.flows.items():
        yield from ((("flow", flow), ("flow", other)) for other in others)
    yield from ((("trigger", key), ("flow", flow)) for key, flow in parts.triggers.items())
    if dependencies is not Dependencies.ALL:
        return
    flows_by_group: defaultdict[str, set[str]] = defaultdict(set)
    for flow, groups in parts.groups_of_flows.items():
        for group in groups:
            flows_by_group[group].add(flow)
    for uuid, campaign in parts.campaigns.items():
        linked = campaign.flow_uuids | flows_by_group[campaign.group_uuid]
        yield from ((("campaign", uuid), ("flow", flow)) for flow in linked)


def _follow(begin: set[_Part], links: Iterator[tuple[_Part, _Part]]) -> set[_Part]:
    neighbors: defaultdict[_Part, set[_Part]] = defaultdict(set)
    for one, other in links:
        neighbors[one].add(other)
        neighbors[other].add(one)
    found, waiting = set(begin), list(begin)
    while waiting:
        for part in neighbors[waiting.pop()] - found:
            found.add(part)
            waiting.append(part)
    return found


def _list_named(content: JsonObject) -> Iterator[tuple[str, JsonObject, int]]:
    for kind, length in (("flow", NAME_LENGTH), ("campaign", NAME_LENGTH), ("group", NAME_LENGTH)):
        for part in list_objects(content.get(f"{kind}s")):
            yield kind, part, length
            # In the oldest files the definition is inside a record of the flow.
            yield from ((kind, inner, length) for inner in _pick(part, "definition"))
    for part in list_objects(content.get("fields")):
        yield "field", part, FIELD_NAME_LENGTH


def _list_references(content: JsonObject) -> Iterator[JsonObject]:
    for campaign in list_objects(content.get("campaigns")):
        yield from _pick(campaign, "group")
        for event in list_objects(campaign.get("events")):
            yield from _pick(event, "flow")
    for trigger in list_objects(content.get("triggers")):
        yield from _pick(trigger, "flow", "channel")
        for key in ("groups", "exclude_groups"):
            yield from list_objects(trigger.get(key))
    for flow in list_objects(content.get("flows")):
        for part in (flow, *_pick(flow, "definition")):
            yield from _list_references_in(part)


def _list_references_in(flow: JsonObject) -> Iterator[JsonObject]:
    """The references of actions and, in old flows, of rule sets; names of contacts and users are not cleaned."""
    parts = [
        action for key in ("nodes", "action_sets") for part in list_objects(flow.get(key)) for action in _act(part)
    ]
    parts += [config for part in list_objects(flow.get("rule_sets")) for config in _pick(part, "config")]
    for part in parts:
        for key, value in part.items():
            if key not in PEOPLE:
                yield from (
                    each for each in list_objects(value if isinstance(value, list) else [value]) if "name" in each
                )


def _act(part: JsonObject) -> list[JsonObject]:
    return list_objects(part.get("actions"))


def _pick(part: Mapping[str, Any], *keys: str) -> Iterator[JsonObject]:
    yield from (part[key] for key in keys if isinstance(part.get(key), dict))


def _clean(kind: str, part: JsonObject, length: int) -> Iterator[Renamed]:
    name = part.get("name")
    if isinstance(name, str) and (cleaned := clean_name(name, length)) != name:
        part["name"] = cleaned
        if cleaned != name.strip():
            yield Renamed(kind, name, cleaned)
