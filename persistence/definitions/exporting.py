"""Writes export files: flows and campaigns with what they need (flow format, definitions endpoint)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import select

from flows.definition.exports import (
    CampaignParts,
    Dependencies,
    ExportedCampaign,
    ExportedField,
    ExportedGroup,
    Selection,
    WorkspaceParts,
    select_parts,
)
from flows.definition.exports.model import FILE_VERSION
from flows.queries import QueryError, inspect, parse_query
from persistence.contacts.queries import open_group_scope
from persistence.database import Transaction
from persistence.definitions.assets import TriggerParts, load_trigger_parts
from persistence.definitions.importing import export_campaigns
from persistence.flows.writes import NO_REVISION
from persistence.sql.columns import is_uuid
from persistence.tables.campaigns import LIVING_EVENT, campaign, campaign_event
from persistence.tables.contacts import field, group
from persistence.tables.flows import flow, flow_revision
from persistence.workspaces.records import Workspace


@dataclass(frozen=True, slots=True)
class FlowParts:
    """The references of a flow, by UUID and key."""

    flow_uuids: tuple[str, ...]
    group_uuids: tuple[str, ...]
    field_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a workspace in the order in which they were created, by UUID; triggers by an arbitrary string."""

    flows: dict[str, FlowParts]
    campaigns: dict[str, CampaignParts]
    triggers: dict[str, TriggerParts]

    def together(self) -> WorkspaceParts:
        """The connections between parts."""
        return WorkspaceParts(
            {uuid: parts.flow_uuids for uuid, parts in self.flows.items()},
            {uuid: parts.group_uuids for uuid, parts in self.flows.items()},
            self.campaigns,
            {key: parts.flow_uuid for key, parts in self.triggers.items()},
        )


def load_parts(tx: Transaction, workspace_id: int) -> Parts:
    """Loads flows that have a definition, and campaigns and triggers that are not archived; five statements."""
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


def export_definitions(
    tx: Transaction,
    workspace: Workspace,
    flow_uuids: Sequence[str],
    campaign_uuids: Sequence[str],
    *,
    dependencies: Dependencies,
    site: str,
    with_campaigns: bool = True,
    with_groups: bool = True,
) -> bytes:
    """An export file as JSON; unknown UUIDs are skipped. A constant number of statements. With ALL dependencies the
    used fields and groups are listed, too, `with_groups`.
    """
    parts = load_parts(tx, workspace.id)
    if not with_campaigns:
        parts.campaigns.clear()
    selection = select_parts(
        parts.together(),
        [uuid.lower() for uuid in flow_uuids if is_uuid(uuid)],
        [uuid.lower() for uuid in campaign_uuids if is_uuid(uuid)],
        dependencies,
    )
    lists = dependencies is Dependencies.ALL and with_groups
    return _write(tx, workspace, parts, selection, site, lists_fields=lists)


def export_workspace(tx: Transaction, workspace: Workspace, *, site: str) -> bytes:
    """An export file as JSON with all flows, campaigns and triggers that are not archived, and everything that they
    need."""
    parts = load_parts(tx, workspace.id)
    living = select(flow.c.uuid).where(flow.c.workspace_id == workspace.id, ~flow.c.is_archived)
    flow_uuids = list(tx.execute(living).scalars())
    selection = select_parts(parts.together(), flow_uuids, list(parts.campaigns), Dependencies.ALL)
    return _write(tx, workspace, parts, selection, site, lists_fields=True)


def _write(
    tx: Transaction,
    workspace: Workspace,
    parts: Parts,
    selection: Selection,
    site: str,
    *,
    lists_fields: bool,
) -> bytes:
    campaigns = export_campaigns(tx, workspace.id, selection.campaigns)
    triggers = [parts.triggers[key] for key in selection.triggers]
    fields: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    if lists_fields:
        used_groups = _list_group_uuids(selection, parts.flows, campaigns, triggers)
        groups, query_fields = _export_groups(tx, workspace, used_groups)
        used_fields = {key for uuid in selection.flows for key in parts.flows[uuid].field_keys}
        used_fields |= {event.relative_to.key for one in campaigns for event in one.events}
        fields = _export_fields(tx, workspace.id, used_fields | query_fields)
    return orjson.dumps(
        {
            "version": FILE_VERSION,
            "site": site,
            "flows": [orjson.Fragment(text) for text in read_definitions(tx, workspace.id, selection.flows)],
            "campaigns": [one.to_json() for one in campaigns],
            "triggers": [one.exported.to_json() for one in triggers],
            "fields": fields,
            "groups": groups,
        }
    )


def read_definitions(tx: Transaction, workspace_id: int, uuids: Sequence[str]) -> list[str]:
    """The newest definitions of flows as JSON texts, in the order in which the flows were created."""
    rows = flow_revision.c
    newest = (rows.flow_id == flow.c.id) & (rows.number == flow.c.definition_revision)
    statement = select(rows.definition).join(flow, newest).where(flow.c.workspace_id == workspace_id)
    return list(tx.execute(statement.where(flow.c.uuid.in_(uuids)).order_by(flow.c.id)).scalars())


def _list_group_uuids(
    selection: Selection,
    flows: dict[str, FlowParts],
    campaigns: Sequence[ExportedCampaign],
    triggers: Iterable[TriggerParts],
) -> set[str]:
    of_flows = {uuid for flow_uuid in selection.flows for uuid in flows[flow_uuid].group_uuids}
    of_triggers = {named.uuid for one in triggers for named in (*one.exported.groups, *one.exported.exclude_groups)}
    return of_flows | of_triggers | {one.group.uuid for one in campaigns}


def _export_groups(
    tx: Transaction, workspace: Workspace, uuids: Collection[str]
) -> tuple[list[dict[str, Any]], set[str]]:
    """The groups, and the keys of the fields in their queries."""
    mine = (group.c.workspace_id == workspace.id) & group.c.uuid.in_(sorted(uuids))
    rows = tx.execute(select(group.c.uuid, group.c.name, group.c.query).where(mine).order_by(group.c.id)).all()
    exported = [ExportedGroup(uuid, name, query).to_json() for uuid, name, query in rows]
    queries = [query for _, _, query in rows if query]
    if not queries:
        return exported, set()
    scope = open_group_scope(tx, workspace)
    keys: set[str] = set()
    for text in queries:
        try:
            query = parse_query(text, scope.environment, scope.resolver, clock=scope.clock)
        except QueryError:
            continue  # it refers to a deleted field
        keys |= {key for key, _ in inspect(query).fields}
    return exported, keys


def _export_fields(tx: Transaction, workspace_id: int, keys: Collection[str]) -> list[dict[str, Any]]:
    mine = (field.c.workspace_id == workspace_id) & field.c.key.in_(sorted(keys))
    rows = tx.execute(select(field.c.key, field.c.name, field.c.type).where(mine).order_by(field.c.id))
    return [ExportedField(key, name, kind).to_json() for key, name, kind in rows]
