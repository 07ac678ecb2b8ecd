"""Imports export files: flows with their campaigns (which it exports too), triggers, fields and groups. Everything in a
file is found here by UUID, otherwise by name, and created if it does not exist, so that importing a file again
changes nothing (flow format, export files).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import orjson
from sqlalchemy import case, select

from flows.definition import DefinitionError, Flow, Inspection, inspect, load
from flows.definition.exports import (
    ExportedCampaign,
    ExportedEvent,
    ExportedField,
    ExportError,
    ExportFile,
    Named,
    Renamed,
    read_export,
)
from flows.definition.references import find_references
from flows.languages import is_language
from persistence.campaigns.events import (
    DATE_TYPE,
    UNIT_LETTERS,
    UNITS,
    EventForm,
    change_campaign_event,
    create_campaign_event,
    delete_campaign_events,
    find_date,
)
from persistence.campaigns.records import (
    CAMPAIGN_EVENT_SOURCE,
    CAMPAIGN_SOURCE,
    RELATIVE_NAME,
    SYSTEM_DATES,
    change_campaign,
    create_campaign,
)
from persistence.channels.channels import PRIVATE, Networks
from persistence.database import Transaction
from persistence.definitions.assets import ImportedAssets, adopt_uuid, import_triggers, read_problem
from persistence.errors import InvalidInput, RuleBroken
from persistence.flows.writes import create_flow, make_flow_uuid, save_definition
from persistence.resthooks import ensure_resthook
from persistence.sql.names import find_id, name_key, require_id
from persistence.statements import update
from persistence.tables.campaigns import campaign, campaign_event
from persistence.tables.contacts import group
from persistence.tables.flows import FLOW_NAME_LENGTH as NAME_LENGTH
from persistence.tables.flows import flow
from persistence.tables.flows import flow as flow_table
from persistence.workspaces.records import Workspace, hold_workspace
from relayboard.base.addresses import Network, may_be_called
from relayboard.base.progress import report

NUL_ESCAPE = rb"\u0000"
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""A NUL character in JSON: its escape, not one of the backslash before it."""

Inspected = Callable[[Flow, Inspection], None]
Events = Callable[[Mapping[str, str]], object]
TEXT_LENGTH = 4096
OFFSET_LIMIT = 2**31
PRIVATE_ADDRESS = "private_address"
UNNAMED = ("base", "und")
"""The language code of untranslated texts in old files."""


@dataclass(frozen=True, slots=True)
class PlacedFlow:
    """A definition of a file with its UUID and name here; `flow_id` is None for a flow that is not created yet."""

    definition: Mapping[str, Any]
    uuid: str
    name: str
    flow_id: int | None


def place_flows(
    tx: Transaction, workspace_id: int, assets: ImportedAssets, definitions: Sequence[Mapping[str, Any]]
) -> list[PlacedFlow]:
    """Finds each flow by UUID, otherwise by name; if another flow has the name, a number is added. Raises ExportError.
    Afterward `assets` contain the flows of the file.
    """
    rows = tx.execute(
        select(flow_table.c.id, flow_table.c.uuid, flow_table.c.name_key).where(
            flow_table.c.workspace_id == workspace_id
        )
    ).all()
    ids = {row.uuid: row.id for row in rows}
    uuids = {row.name_key: row.uuid for row in rows}
    _check_uuids(definitions)
    matched: dict[int, str] = {
        index: uuid for index, given in enumerate(definitions) if (uuid := str(given["uuid"]).lower()) in ids
    }
    for index, given in enumerate(definitions):
        found = uuids.get(name_key(given["name"].strip()))
        if index not in matched and found is not None and found not in matched.values():
            matched[index] = found
    taken = {key for key, uuid in uuids.items() if uuid not in matched.values()}
    placed = []
    for index, given in enumerate(definitions):
        name = number_name(given["name"].strip(), taken)
        taken.add(name_key(name))
        uuid = matched.get(index) or make_flow_uuid(tx, given["uuid"])
        assets.add_flow(given["uuid"], (uuid, name))
        placed.append(PlacedFlow(given, uuid, name, ids.get(uuid)))
    return placed


def free_old_names(tx: Transaction, workspace_id: int, placed: Sequence[PlacedFlow]) -> None:
    """Clears the names of flows that will be renamed, so that their names can be used by others of the file. All
    flows of the file are locked in the order of ids, as workers lock flows whose runs they count; those who change a
    name wait at once for workers that store runs, because a stronger lock later would be a deadlock with workers that
    count them.
    """
    names = {one.flow_id: one.name for one in placed if one.flow_id is not None}
    mine = (flow_table.c.workspace_id == workspace_id) & flow_table.c.id.in_(sorted(names))
    columns = (flow_table.c.id, flow_table.c.name, flow_table.c.name_key)
    known = tx.execute(select(*columns).where(mine)).all()
    keeps_keys = all(name_key(names[row.id]) == row.name_key for row in known)
    tx.execute(select(flow_table.c.id).where(mine).order_by(flow_table.c.id).with_for_update(key_share=keeps_keys))
    for one in placed:
        mine = (flow_table.c.workspace_id == workspace_id) & (flow_table.c.id == one.flow_id)
        if one.flow_id is not None:
            renamed = update(flow_table).where(mine, flow_table.c.name_key != name_key(one.name))
            tx.execute(renamed.values(name_key=f"was {one.uuid}"))


def number_name(name: str, taken: set[str]) -> str:
    """The name, if necessary with the first number that makes it unique: `Registration 2`."""
    number, free = 1, name
    while name_key(free) in taken:
        number += 1
        free = f"{name[: NAME_LENGTH - len(str(number)) - 1]} {number}"
    return free


class ImportRefused(RuleBroken):
    """A file cannot be imported; the message says where in the file, and why. Nothing was changed."""


@dataclass(slots=True)
class ImportReport:
    """What an import did: the records of flows, campaigns and triggers with their `change`, and what else it created.
    `made` has the keys of fields and globals and the names of groups, labels and topics; `skipped` the triggers that
    could not be imported, with the reason; `renamed` everything that has another name than in the file.
    """

    flows: list[dict[str, Any]] = field(default_factory=list)
    campaigns: list[dict[str, Any]] = field(default_factory=list)
    triggers: list[dict[str, Any]] = field(default_factory=list)
    made: Mapping[str, list[str]] = field(default_factory=dict)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    renamed: list[dict[str, str]] = field(default_factory=list)


def import_definitions(
    tx: Transaction,
    workspace: Workspace,
    document: object,
    *,
    media_url: str = "",
    networks: Networks = None,
    user_id: int | None = None,
    inspected: Inspected = lambda _flow, _inspection: None,
    events: Events = lambda _uuids: None,
) -> ImportReport:
    """Imports the content of an export file, or one definition, into a workspace. Relative URLs of attachments in old
    flows are resolved against `media_url`. Calls of private networks other than `networks` are told as issues.
    `user_id` is who imports it. `inspected` is told each flow as it is stored, `events` the UUIDs of a campaign's
    events here by those in the file. Raises ImportRefused for a file that cannot be imported, LimitReached at a limit
    of the workspace.
    """
    tx.may_pause()
    hold_workspace(tx, workspace.id)
    _write_text(document)
    try:
        file = read_export(document, media_url=media_url)
        text = _write_text(file.to_json())
        if NUL_ESCAPE in text and NUL.search(text):
            raise ImportRefused("this cannot be stored: a text has a NUL character")
        imported = _import(tx, workspace, file, user_id, inspected, events)
    except ExportError as error:
        raise ImportRefused(str(error)) from error
    return imported if networks is None else tell_private(imported, file.flows, networks)


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
        linked = _link_campaign(workspace, assets, given, place)
        try:
            imported.append(_import_campaign(tx, workspace, linked))
        except InvalidInput as error:
            raise ExportError(read_problem(error), place) from error
    return imported


def _check_uuids(definitions: Sequence[Mapping[str, Any]]) -> None:
    seen: set[str] = set()
    for index, given in enumerate(definitions):
        uuid = str(given["uuid"]).lower()
        if uuid in seen:
            raise ExportError(f"{uuid} is used twice", f"flows[{index}].uuid")
        seen.add(uuid)


def tell_private(
    imported: ImportReport, definitions: Sequence[Mapping[str, Any]], networks: Sequence[Network]
) -> ImportReport:
    """Adds an issue for each webhook action whose URL names a private address, which is refused when it is called."""
    for record, given in zip(imported.flows, definitions, strict=True):
        for node in given.get("nodes") or ():
            for action in node.get("actions") or ():
                if action.get("type") == "call_webhook" and _is_private(str(action.get("url") or ""), networks):
                    place = {"node_uuid": node.get("uuid"), "action_uuid": action.get("uuid")}
                    record["issues"].append({"type": PRIVATE_ADDRESS, **place, "description": PRIVATE})
    return imported


def _is_private(url: str, networks: Sequence[Network]) -> bool:
    try:
        host = urlsplit(url.strip()).hostname or ""
    except ValueError:
        return False
    return bool(host) and "@" not in host and not may_be_called(host, networks)


def _write_text(document: object) -> bytes:
    """The document as JSON; raises ImportRefused for numbers and nesting that databases cannot store."""
    try:
        return orjson.dumps(document)
    except orjson.JSONEncodeError as error:
        raise ImportRefused(f"this cannot be stored: {error}") from error


def _import(
    tx: Transaction,
    workspace: Workspace,
    file: ExportFile,
    user_id: int | None,
    inspected: Inspected,
    events: Events,
) -> ImportReport:
    assets = ImportedAssets(tx, workspace)
    _import_fields(assets, file)
    _import_groups(assets, file)
    report = ImportReport(made=assets.made, renamed=[each.to_json() for each in file.renamed])
    report.flows = _import_flows(tx, workspace, assets, file, report.renamed, user_id, inspected)
    campaigns = import_campaigns(tx, workspace, assets, file.campaigns)
    report.campaigns = [each.report for each in campaigns]
    for each in campaigns:
        events(each.events)
    report.triggers, skipped = import_triggers(tx, workspace, assets, file.triggers)
    report.skipped = [*(each.to_json() for each in file.skipped), *skipped]
    return report


def _import_fields(assets: ImportedAssets, file: ExportFile) -> None:
    for index, given in enumerate(file.fields):
        if not assets.ensure_field(given.key, given.name, given.type):
            raise ExportError(f'no field can have the key "{given.key}"', f"fields[{index}].key")
    # Before flows use them, because flows do not know that these fields are dates.
    make_date_fields(assets, file.campaigns)


def _import_groups(assets: ImportedAssets, file: ExportFile) -> None:
    for index, given in enumerate(file.groups):
        try:
            assets.ensure_group(given.uuid, given.name, given.query or "")
        except InvalidInput as error:
            raise ExportError(read_problem(error), f"groups[{index}]") from error


def _import_flows(
    tx: Transaction,
    workspace: Workspace,
    assets: ImportedAssets,
    file: ExportFile,
    renamed: list[dict[str, str]],
    user_id: int | None,
    inspected: Inspected,
) -> list[dict[str, Any]]:
    placed = place_flows(tx, workspace.id, assets, file.flows)
    renamed += [
        Renamed("flow", one.definition["name"], one.name).to_json()
        for one in placed
        if one.name != one.definition["name"].strip()
    ]
    flows = [_link(assets, one, f"flows[{index}]") for index, one in enumerate(placed)]
    free_old_names(tx, workspace.id, placed)
    ids = [
        one.flow_id if one.flow_id is not None else create_flow(tx, workspace.id, one.uuid, linked)
        for one, linked in zip(placed, flows, strict=True)
    ]
    for index, linked in enumerate(flows):
        _make_needs(tx, workspace, assets, linked, f"flows[{index}]")
    saved = []
    for one, linked, flow_id in zip(placed, flows, ids, strict=True):
        inspection = inspect(linked, assets)
        inspected(linked, inspection)
        saved.append(_save(tx, workspace, one, linked, flow_id, inspection, user_id))
        report("Importing flows", len(saved), len(placed))
    return saved


def _link(assets: ImportedAssets, placed: PlacedFlow, place: str) -> Flow:
    """The flow with its references resolved in this workspace."""
    try:
        # Nobody reads the references of the file any more.
        definition = {**placed.definition, "uuid": placed.uuid, "name": placed.name}
        return load(definition, resolve=assets.resolve, is_own=True)
    except DefinitionError as error:
        raise ExportError(str(error), place) from error


def _make_needs(tx: Transaction, workspace: Workspace, assets: ImportedAssets, flow: Flow, place: str) -> None:
    """Creates the fields, globals and resthooks that the flow uses and that do not exist yet."""
    needs = {(each.reference.kind, each.reference.identity): each.reference for each in find_references(flow).found}
    for needed in needs.values():
        if needed.kind == "field":
            assets.ensure_field(needed.identity, needed.name, "text")
        elif needed.kind == "global":
            assets.ensure_global(needed.identity)
    for node in flow.nodes:
        for action in node.actions:
            slug = action.fields.get("resthook")
            if action.type != "call_resthook" or not isinstance(slug, str):
                continue
            try:
                ensure_resthook(tx, workspace.id, slug)
            except InvalidInput as error:
                where = DefinitionError(read_problem(error), node=node.uuid, action=action.uuid, field="resthook")
                raise ExportError(str(where), place) from error


def _save(
    tx: Transaction,
    workspace: Workspace,
    placed: PlacedFlow,
    flow: Flow,
    flow_id: int,
    inspection: Inspection,
    user_id: int | None,
) -> dict[str, Any]:
    is_new = placed.flow_id is None
    is_changed = save_definition(tx, workspace.id, flow_id, flow, inspection, is_made=is_new, user_id=user_id)
    change = "created" if is_new else "updated" if is_changed else "unchanged"
    issues = [issue.to_json() for issue in inspection.issues]
    return {"uuid": placed.uuid, "name": placed.name, "change": change, "issues": issues}


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


def _link_campaign(
    workspace: Workspace, assets: ImportedAssets, given: ExportedCampaign, place: str
) -> ExportedCampaign:
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


def _import_campaign(tx: Transaction, workspace: Workspace, linked: ExportedCampaign) -> ImportedCampaign:
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
