"""Bringing the campaigns of an export file into a workspace, where they find their groups, fields and flows."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table, select

from flows.definition.exports import ExportedCampaign, ExportError
from persistence.campaign_events import SYSTEM_DATES
from persistence.campaign_exports import export_campaigns
from persistence.campaign_imports import import_campaigns
from persistence.campaigns import campaign
from persistence.database import Transaction
from persistence.definition_assets import ImportedAssets
from persistence.definition_problems import read_problem
from persistence.errors import InvalidInput
from persistence.flows import flow
from persistence.groups import group
from persistence.names import name_key
from persistence.workspaces import Workspace

UNNAMED = ("base", "und")
"""What old files say for the language of texts when they were not translated."""


def import_campaigns_of_file(
    tx: Transaction, workspace: Workspace, assets: ImportedAssets, campaigns: Sequence[ExportedCampaign]
) -> list[dict[str, Any]]:
    """Brings campaigns in after the flows; their uuid, name and change. Raises ExportError.

    A campaign that says what the one here says keeps its events, which have their fires to come.
    """
    all_linked = [_link(workspace, assets, given, f"campaigns[{index}]") for index, given in enumerate(campaigns)]
    groups = _load_ids(tx, workspace.id, group)
    flows = _load_ids(tx, workspace.id, flow)
    reports = []
    for index, (given, linked) in enumerate(zip(campaigns, all_linked, strict=True)):
        known = _find(tx, workspace.id, given)
        change = "created" if known is None else "updated"
        if known is not None and _says_the_same(tx, workspace.id, known, linked):
            change = "unchanged"
        else:
            try:
                made = import_campaigns(tx, workspace, [linked], groups=groups, flows=flows, is_same_site=True)
            except InvalidInput as error:
                raise ExportError(read_problem(error), f"campaigns[{index}]") from error
            known = tx.execute(select(campaign.c.uuid).where(campaign.c.id == made[0])).scalar_one()
        reports.append({"uuid": known, "name": linked["name"], "change": change})
    return reports


def make_date_fields(assets: ImportedAssets, campaigns: Sequence[ExportedCampaign]) -> None:
    """The fields from which events count. Raises ExportError for one that cannot be made."""
    for index, given in enumerate(campaigns):
        for number, event in enumerate(given.events):
            date = event.relative_to
            if date.key not in SYSTEM_DATES and not assets.ensure_field(date.key, date.name, "datetime"):
                place = f"campaigns[{index}].events[{number}].relative_to"
                raise ExportError(f'no field can have the key "{date.key}"', place)


def _load_ids(tx: Transaction, workspace_id: int, table: Table) -> dict[str, int]:
    rows = tx.execute(select(table.c.uuid, table.c.id).where(table.c.workspace_id == workspace_id))
    return {uuid: record_id for uuid, record_id in rows}


def _link(workspace: Workspace, assets: ImportedAssets, given: ExportedCampaign, place: str) -> dict[str, Any]:
    """The campaign as files write it, with its references as they are known here."""
    written = given.to_json()
    known = assets.resolve("group", given.group.uuid, given.group.name)
    if known is None:
        raise ExportError(f'there is no group "{given.group.name}" and none can be made', f"{place}.group")
    written |= {"name": given.name.strip(), "group": {"uuid": known[0], "name": known[1]}}
    for index, (event, changed) in enumerate(zip(given.events, written["events"], strict=True)):
        where = f"{place}.events[{index}]"
        if event.flow is not None:
            flow_known = assets.find("flow", event.flow.uuid, event.flow.name)
            if flow_known is None:
                raise ExportError(f'there is no flow "{event.flow.name}"', f"{where}.flow")
            changed["flow"] = {"uuid": flow_known[0], "name": flow_known[1]}
        else:
            _name_languages(changed, workspace.default_language)
    return written


def _name_languages(event: dict[str, Any], default: str) -> None:
    """Texts of an unnamed language are in the workspace's."""
    texts = {default if language in UNNAMED else language: text for language, text in event["message"].items()}
    base = event["base_language"]
    event |= {"message": texts, "base_language": default if base in UNNAMED else base}


def _find(tx: Transaction, workspace_id: int, given: ExportedCampaign) -> str | None:
    """The uuid of the campaign with this uuid, else with this name, that is not archived."""
    mine = (campaign.c.workspace_id == workspace_id) & ~campaign.c.is_archived
    named = campaign.c.name_key == name_key(given.name.strip())
    by_uuid = campaign.c.uuid == given.uuid if given.uuid else campaign.c.id < 0
    found = tx.execute(select(campaign.c.uuid).where(mine, by_uuid | named).order_by(by_uuid.desc()))
    uuid: str | None = found.scalars().first()
    return uuid


def _says_the_same(tx: Transaction, workspace_id: int, uuid: str, linked: dict[str, Any]) -> bool:
    here = export_campaigns(tx, workspace_id, [uuid]).campaigns[0]
    return _list_sayings(here) == _list_sayings(linked)


def _list_sayings(written: dict[str, Any]) -> tuple[Any, ...]:
    """What matters of a campaign: not its UUIDs, nor the labels of fields."""
    events = [
        [
            event["offset"],
            event["unit"],
            event["event_type"],
            event["delivery_hour"],
            event["message"],
            event.get("base_language"),
            event["relative_to"]["key"],
            event["start_mode"],
            (event.get("flow") or {}).get("uuid"),
        ]
        for event in written["events"]
    ]
    return written["name"], written["group"]["uuid"], events
