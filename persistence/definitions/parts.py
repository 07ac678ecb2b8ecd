"""How the flows, campaigns and triggers of a workspace hang together, for exports."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import select

from flows.definition.exports import CampaignParts, WorkspaceParts
from persistence.database import Transaction
from persistence.definitions.triggers import TriggerParts, load_trigger_parts
from persistence.flows.writes import NO_REVISION
from persistence.tables.campaigns import LIVING_EVENT, campaign, campaign_event
from persistence.tables.contacts import group
from persistence.tables.flows import flow


@dataclass(frozen=True, slots=True)
class FlowParts:
    """What a flow refers to, by UUID and key."""

    flow_uuids: tuple[str, ...]
    group_uuids: tuple[str, ...]
    field_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a workspace in the order in which they were made, by UUID; triggers by any text."""

    flows: dict[str, FlowParts] = field(default_factory=dict)
    campaigns: dict[str, CampaignParts] = field(default_factory=dict)
    triggers: dict[str, TriggerParts] = field(default_factory=dict)

    def together(self) -> WorkspaceParts:
        """What goes with what."""
        return WorkspaceParts(
            {uuid: parts.flow_uuids for uuid, parts in self.flows.items()},
            {uuid: parts.group_uuids for uuid, parts in self.flows.items()},
            self.campaigns,
            {key: parts.flow_uuid for key, parts in self.triggers.items()},
        )


def load_parts(tx: Transaction, workspace_id: int) -> Parts:
    """Flows that have a definition, and campaigns and triggers that are not archived; five statements."""
    columns = (flow.c.uuid, flow.c.dependencies)
    defined = (flow.c.workspace_id == workspace_id) & (flow.c.definition_revision > NO_REVISION)
    rows = tx.execute(select(*columns).where(defined).order_by(flow.c.id))
    flows = {uuid: _read_flow(dependencies) for uuid, dependencies in rows}
    return Parts(flows, _load_campaigns(tx, workspace_id), load_trigger_parts(tx, workspace_id))


def _read_flow(dependencies: Sequence[Mapping[str, str]]) -> FlowParts:
    def list_all(kind: str, identity: str) -> tuple[str, ...]:
        return tuple(each[identity] for each in dependencies if each["type"] == kind)

    return FlowParts(list_all("flow", "uuid"), list_all("group", "uuid"), list_all("field", "key"))


def _load_campaigns(tx: Transaction, workspace_id: int) -> dict[str, CampaignParts]:
    mine = (campaign.c.workspace_id == workspace_id) & ~campaign.c.is_archived
    groups = (
        select(campaign.c.uuid, group.c.uuid.label("group_uuid"))
        .join(group, group.c.id == campaign.c.group_id)
        .where(mine)
        .order_by(campaign.c.created_on, campaign.c.id)
    )
    starts = (
        select(campaign.c.uuid, flow.c.uuid.label("flow_uuid"))
        .join(campaign_event, campaign_event.c.campaign_id == campaign.c.id)
        .join(flow, flow.c.id == campaign_event.c.flow_id)
        .where(mine, LIVING_EVENT)
    )
    flows: defaultdict[str, set[str]] = defaultdict(set)
    for uuid, flow_uuid in tx.execute(starts):
        flows[uuid].add(flow_uuid)
    return {row.uuid: CampaignParts(row.group_uuid, frozenset(flows[row.uuid])) for row in tx.execute(groups)}
