"""Campaigns as export files hold them (flow format, export files)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, select

from persistence.campaign_event_summaries import UNIT_LETTERS
from persistence.campaign_events import LIVING_EVENT, RELATIVE_NAME, campaign_event
from persistence.campaigns import CAMPAIGN_SOURCE, campaign
from persistence.database import Transaction
from persistence.fields import field
from persistence.flows import flow
from persistence.groups import group

FLOW_EVENT, MESSAGE_EVENT = "F", "M"


@dataclass(frozen=True, slots=True)
class ExportedCampaigns:
    """Campaigns for an export file, and the records of the workspace that they depend on."""

    campaigns: list[dict[str, Any]]
    group_uuids: frozenset[str]
    flow_uuids: frozenset[str]
    field_keys: frozenset[str]


def find_campaigns_of_flows(tx: Transaction, workspace_id: int, flow_uuids: Collection[str]) -> set[str]:
    """The uuids of the campaigns, none of them archived, with events that start one of these flows."""
    statement = (
        select(campaign.c.uuid)
        .join(campaign_event, campaign_event.c.campaign_id == campaign.c.id)
        .join(flow, flow.c.id == campaign_event.c.flow_id)
        .where(campaign.c.workspace_id == workspace_id, LIVING_EVENT, flow.c.uuid.in_(sorted(flow_uuids)))
    )
    return set(tx.execute(statement).scalars())


def export_campaigns(tx: Transaction, workspace_id: int, uuids: Collection[str]) -> ExportedCampaigns:
    """These campaigns, oldest first, as far as they exist and are not archived; two statements for any number."""
    mine = (campaign.c.workspace_id == workspace_id) & ~campaign.c.is_archived & campaign.c.uuid.in_(sorted(uuids))
    columns = (campaign.c.id, campaign.c.uuid, campaign.c.name, group.c.uuid.label("group_uuid"), group.c.name)
    statement = select(*columns).select_from(CAMPAIGN_SOURCE).where(mine).order_by(campaign.c.created_on, campaign.c.id)
    exported: dict[int, dict[str, Any]] = {
        campaign_id: {"uuid": uuid, "name": name, "group": {"uuid": group_uuid, "name": group_name}, "events": []}
        for campaign_id, uuid, name, group_uuid, group_name in tx.execute(statement)
    }
    rows = _read_events(tx, workspace_id, exported)
    for row in rows:
        exported[row.campaign_id]["events"].append(_describe(row))
    return ExportedCampaigns(
        list(exported.values()),
        frozenset(one["group"]["uuid"] for one in exported.values()),
        frozenset(row.flow_uuid for row in rows if row.flow_uuid is not None),
        frozenset(row.relative_to for row in rows if row.field_id is not None),
    )


def _read_events(tx: Transaction, workspace_id: int, campaign_ids: Collection[int]) -> list[Any]:
    columns = campaign_event.c
    statement = (
        select(
            campaign_event,
            case(UNIT_LETTERS, value=columns.unit).label("letter"),
            RELATIVE_NAME.label("label"),
            field.c.id.label("field_id"),
            flow.c.uuid.label("flow_uuid"),
            flow.c.name.label("flow_name"),
        )
        .outerjoin(field, (field.c.workspace_id == columns.workspace_id) & (field.c.key == columns.relative_to))
        .outerjoin(flow, flow.c.id == columns.flow_id)
        .where(columns.workspace_id == workspace_id, ~columns.is_deleted, columns.campaign_id.in_(campaign_ids))
        .order_by(columns.created_on, columns.id)
    )
    return list(tx.execute(statement).all()) if campaign_ids else []


def _describe(row: Any) -> dict[str, Any]:
    described: dict[str, Any] = {
        "uuid": row.uuid,
        "offset": row.offset,
        "unit": row.letter,
        "event_type": FLOW_EVENT if row.message is None else MESSAGE_EVENT,
        "delivery_hour": row.delivery_hour,
        "message": row.message,
        "relative_to": {"label": row.label, "key": row.relative_to},
        "start_mode": row.start_mode,
    }
    if row.message is None:
        described["flow"] = {"uuid": row.flow_uuid, "name": row.flow_name}
    else:
        described["base_language"] = row.base_language
    return described
