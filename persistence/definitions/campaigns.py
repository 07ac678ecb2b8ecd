"""Exports and imports campaigns (flow format, export files)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import case, select

from flows.definition.exports import ExportedCampaign, ExportedEvent, ExportedField, ExportError, Named
from flows.languages import is_language
from persistence.campaign_events.v1 import UNIT_LETTERS, UNITS
from persistence.campaign_events.v2 import CAMPAIGN_EVENT_SOURCE, RELATIVE_NAME, SYSTEM_DATES
from persistence.campaign_events.writes import (
    DATE_TYPE,
    EventForm,
    change_campaign_event,
    create_campaign_event,
    delete_campaign_events,
    find_date,
)
from persistence.campaigns.v2 import CAMPAIGN_SOURCE
from persistence.campaigns.writes import change_campaign, create_campaign
from persistence.database import Transaction
from persistence.definitions.assets import ImportedAssets, adopt_uuid
from persistence.definitions.problems import read_problem
from persistence.errors import InvalidInput
from persistence.sql.names import find_id, require_id
from persistence.tables.campaigns import campaign, campaign_event
from persistence.tables.contacts import group
from persistence.tables.flows import flow
from persistence.workspaces import Workspace

TEXT_LENGTH = 4096
OFFSET_LIMIT = 2**31
UNNAMED = ("base", "und")
"""The language code of untranslated texts in old files."""


def export_campaigns(tx: Transaction, workspace_id: int, uuids: Collection[str]) -> list[ExportedCampaign]:
    """Those of these campaigns that exist and are not archived, oldest first; two statements for any number."""
    mine = (campaign.c.workspace_id == workspace_id) & ~campaign.c.is_archived & campaign.c.uuid.in_(sorted(uuids))
    columns = (campaign.c.id, campaign.c.uuid, campaign.c.name, group.c.uuid, group.c.name)
    statement = select(*columns).select_from(CAMPAIGN_SOURCE).where(mine).order_by(campaign.c.created_on, campaign.c.id)
    rows = tx.execute(statement).all()
    events = _read_events(tx, workspace_id, [campaign_id for campaign_id, *_ in rows])
    return [
        ExportedCampaign(uuid, name, Named(group_uuid, group_name), tuple(events[campaign_id]))
        for campaign_id, uuid, name, group_uuid, group_name in rows
    ]


def _read_events(
    tx: Transaction, workspace_id: int, campaign_ids: Collection[int]
) -> Mapping[int, Sequence[ExportedEvent]]:
    rows = campaign_event.c
    does = (flow.c.uuid, flow.c.name, rows.message, rows.base_language, rows.start_mode)
    timing = (rows.relative_to, RELATIVE_NAME, rows.offset, case(UNIT_LETTERS, value=rows.unit), rows.delivery_hour)
    statement = (
        select(rows.campaign_id, rows.uuid, *does, *timing)
        .select_from(CAMPAIGN_EVENT_SOURCE)
        .where(rows.workspace_id == workspace_id, ~rows.is_deleted, rows.campaign_id.in_(campaign_ids))
        .order_by(rows.created_on, rows.id)
    )
    found: defaultdict[int, list[ExportedEvent]] = defaultdict(list)
    for row in tx.execute(statement) if campaign_ids else ():
        campaign_id, uuid, flow_uuid, flow_name, message, base, mode, key, label, offset, unit, hour = row
        started = Named(flow_uuid, flow_name) if message is None else None
        date = ExportedField(key, label, DATE_TYPE)
        event = ExportedEvent(uuid, offset, unit, hour, date, mode, started, message, base or "")
        found[campaign_id].append(event)
    return found


def make_date_fields(assets: ImportedAssets, campaigns: Sequence[ExportedCampaign]) -> None:
    """Creates the fields from which events count. Raises ExportError for one that cannot be created."""
    for index, given in enumerate(campaigns):
        for number, event in enumerate(given.events):
            date = event.relative_to
            if date.key not in SYSTEM_DATES and not assets.ensure_field(date.key, date.name, DATE_TYPE):
                place = f"campaigns[{index}].events[{number}].relative_to"
                raise ExportError(f'no field can have the key "{date.key}"', place)


@dataclass(frozen=True, slots=True)
class ImportedCampaign:
    """What became of a campaign of a file; `events` are the UUIDs here of its events by those in the file."""

    report: dict[str, Any]
    events: dict[str, str]


def import_campaigns(
    tx: Transaction, workspace: Workspace, assets: ImportedAssets, campaigns: Sequence[ExportedCampaign]
) -> list[ImportedCampaign]:
    """Imports campaigns after the flows. Raises ExportError. A campaign is found by its UUID, otherwise by its name,
    its events by their UUIDs, otherwise by what they do and when: these stay, with what is scheduled, and are changed
    to what the file says. Others are deleted.
    """
    imported = []
    for index, given in enumerate(campaigns):
        place = f"campaigns[{index}]"
        linked = _link(workspace, assets, given, place)
        try:
            imported.append(_import(tx, workspace, linked))
        except InvalidInput as error:
            raise ExportError(read_problem(error), place) from error
    return imported


def _link(workspace: Workspace, assets: ImportedAssets, given: ExportedCampaign, place: str) -> ExportedCampaign:
    """The campaign with its references, dates and texts resolved in this workspace."""
    known = assets.resolve("group", given.group.uuid, given.group.name)
    if known is None:
        raise ExportError(f'there is no group "{given.group.name}" and none can be made', f"{place}.group")
    events = [_link_event(workspace, assets, event, f"{place}.events[{i}]") for i, event in enumerate(given.events)]
    return replace(given, name=given.name.strip(), group=Named(*known), events=tuple(events))


def _link_event(workspace: Workspace, assets: ImportedAssets, event: ExportedEvent, place: str) -> ExportedEvent:
    if not -OFFSET_LIMIT <= event.offset < OFFSET_LIMIT:
        raise ExportError(f"{event.offset} is out of range: at most {OFFSET_LIMIT - 1} units", f"{place}.offset")
    if event.flow is not None:
        known = assets.find("flow", event.flow.uuid, event.flow.name)
        if known is None:
            raise ExportError(f'there is no flow "{event.flow.name}"', f"{place}.flow")
        return replace(event, flow=Named(*known))
    default = workspace.default_language
    texts = {default if language in UNNAMED else language: text for language, text in (event.message or {}).items()}
    cut = {language: text.strip()[:TEXT_LENGTH] for language, text in texts.items() if is_language(language)}
    kept = {language: text for language, text in cut.items() if text}
    if not kept:
        raise ExportError(
            f"no text in a known language; there are texts in {', '.join(texts) or 'none'}"[:200], f"{place}.message"
        )
    base = default if event.base_language in UNNAMED else event.base_language
    return replace(event, message=kept, base_language=base if base in kept else next(iter(kept)))


def _import(tx: Transaction, workspace: Workspace, linked: ExportedCampaign) -> ImportedCampaign:
    living = ~campaign.c.is_archived
    campaign_id = find_id(tx, workspace.id, campaign, linked.uuid, living)
    if campaign_id is None:
        campaign_id = find_id(tx, workspace.id, campaign, linked.name, living, by_name=True)
    group_id = require_id(tx, workspace.id, group, linked.group.uuid, field="group")
    if campaign_id is None:
        campaign_id = create_campaign(tx, workspace.id, linked.name, group_id)
        uuid = adopt_uuid(tx, campaign, campaign_id, linked.uuid)
        events, _ = _store_events(tx, workspace.id, campaign_id, linked.events, ())
        return ImportedCampaign({"uuid": uuid, "name": linked.name, "change": "created"}, events)
    uuid = tx.execute(select(campaign.c.uuid).where(campaign.c.id == campaign_id)).scalar_one()
    [here] = export_campaigns(tx, workspace.id, [uuid])
    is_changed = (here.name, here.group.uuid) != (linked.name, linked.group.uuid)
    if is_changed:
        change_campaign(tx, workspace.id, uuid, linked.name, group_id)
    events, are_changed = _store_events(tx, workspace.id, campaign_id, linked.events, here.events)
    change = "updated" if is_changed or are_changed else "unchanged"
    return ImportedCampaign({"uuid": uuid, "name": linked.name, "change": change}, events)


def _store_events(
    tx: Transaction,
    workspace_id: int,
    campaign_id: int,
    wanted: Sequence[ExportedEvent],
    present: Sequence[ExportedEvent],
) -> tuple[dict[str, str], bool]:
    """Gives a campaign these events instead of those that it has; returns the UUIDs here by those in the file, and
    whether anything changed."""
    rest = {event.uuid: event for event in present}
    known = [rest.pop(event.uuid.lower(), None) for event in wanted]
    for number, event in enumerate(wanted):
        same = next((each.uuid for each in rest.values() if _content(each) == _content(event)), None)
        if known[number] is None and same is not None:
            known[number] = rest.pop(same)
    if rest:
        mine = (campaign_event.c.workspace_id == workspace_id) & campaign_event.c.uuid.in_(sorted(rest))
        old = select(campaign_event.c.id).where(mine, ~campaign_event.c.is_deleted)
        delete_campaign_events(tx, workspace_id, list(tx.execute(old).scalars()))
    uuids, is_changed = {}, bool(rest)
    for event, here in zip(wanted, known, strict=True):
        is_same = here is not None and _content(here) == _content(event)
        is_changed |= not is_same
        if here is None:
            event_id = create_campaign_event(tx, workspace_id, campaign_id, _make_form(tx, workspace_id, event))
            uuids[event.uuid] = adopt_uuid(tx, campaign_event, event_id, event.uuid)
        else:
            uuids[event.uuid] = here.uuid
            if not is_same:
                change_campaign_event(tx, workspace_id, here.uuid, _make_form(tx, workspace_id, event))
    return uuids, is_changed


def _content(event: ExportedEvent) -> ExportedEvent:
    """What an event does and when, without its UUID and the names in references."""
    return replace(
        event,
        uuid="",
        relative_to=replace(event.relative_to, name=""),
        flow=None if event.flow is None else replace(event.flow, name=""),
    )


def _make_form(tx: Transaction, workspace_id: int, event: ExportedEvent) -> EventForm:
    date = find_date(tx, workspace_id, event.relative_to.key)
    form = EventForm(date, event.offset, UNITS[event.unit], event.delivery_hour, start_mode=event.start_mode)
    if event.flow is not None:
        return replace(form, flow_id=require_id(tx, workspace_id, flow, event.flow.uuid, field="flow"))
    return replace(form, message=dict(event.message or {}), base_language=event.base_language)
