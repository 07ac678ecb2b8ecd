"""Which flows, campaigns and triggers go together into an export file (flow format, definitions endpoint)."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum


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


_Part = tuple[str, str]


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
