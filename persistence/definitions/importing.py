"""Imports export files: flows with their campaigns, triggers, fields and groups. Everything in a file is found here by
UUID, otherwise by name, and created if it does not exist, so that importing a file again changes nothing (flow format,
export files).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson
from sqlalchemy import select, update

from flows.definition import DefinitionError, Flow, Inspection, inspect, load
from flows.definition.exports import ExportError, ExportFile, Renamed, read_export
from flows.definition.references import find_references
from persistence.channels.webhooks import PRIVATE, Networks
from persistence.database import Transaction
from persistence.definitions.assets import ImportedAssets
from persistence.definitions.campaigns import import_campaigns, make_date_fields
from persistence.definitions.problems import read_problem
from persistence.definitions.triggers import import_triggers
from persistence.errors import InvalidInput, RuleBroken
from persistence.flows.writes import create_flow, make_flow_uuid, save_definition
from persistence.progress import report
from persistence.resthooks.resthooks import ensure_resthook
from persistence.sql.names import name_key
from persistence.tables.flows import FLOW_NAME_LENGTH as NAME_LENGTH
from persistence.tables.flows import flow as flow_table
from persistence.workspaces import Workspace, hold_workspace
from relayboard.base.addresses import Network, may_be_called


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


def _check_uuids(definitions: Sequence[Mapping[str, Any]]) -> None:
    seen: set[str] = set()
    for index, given in enumerate(definitions):
        uuid = str(given["uuid"]).lower()
        if uuid in seen:
            raise ExportError(f"{uuid} is used twice", f"flows[{index}].uuid")
        seen.add(uuid)


NUL_ESCAPE = rb"\u0000"
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""A NUL character in JSON: its escape, not one of the backslash before it."""


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


Inspected = Callable[[Flow, Inspection], None]
Events = Callable[[Mapping[str, str]], object]


def import_definitions(
    tx: Transaction,
    workspace: Workspace,
    document: object,
    *,
    media_url: str = "",
    networks: Networks = None,
    inspected: Inspected = lambda _flow, _inspection: None,
    events: Events = lambda _uuids: None,
) -> ImportReport:
    """Imports the content of an export file, or one definition, into a workspace. Relative URLs of attachments in old
    flows are resolved against `media_url`. Calls of private networks other than `networks` are told as issues.
    `inspected` is told each flow as it is stored, `events` the UUIDs of a campaign's events here by those in the file.
    Raises ImportRefused for a file that cannot be imported, LimitReached
    at a limit of the workspace.
    """
    hold_workspace(tx, workspace.id)
    _write_text(document)
    try:
        file = read_export(document, media_url=media_url)
        text = _write_text(file.to_json())
        if NUL_ESCAPE in text and NUL.search(text):
            raise ImportRefused("this cannot be stored: a text has a NUL character")
        imported = _import(tx, workspace, file, inspected, events)
    except ExportError as error:
        raise ImportRefused(str(error)) from error
    return imported if networks is None else _tell_private(imported, file, networks)


def _tell_private(imported: ImportReport, file: ExportFile, networks: Sequence[Network]) -> ImportReport:
    """Adds an issue for each webhook action whose URL names a private address, which is refused when it is called."""
    for record, given in zip(imported.flows, file.flows, strict=True):
        for node in given.get("nodes") or ():
            for action in node.get("actions") or ():
                if action.get("type") == "call_webhook" and _is_private(str(action.get("url") or ""), networks):
                    place = {"node_uuid": node.get("uuid"), "action_uuid": action.get("uuid")}
                    record["issues"].append({"type": "private_address", **place, "description": PRIVATE})
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
    tx: Transaction, workspace: Workspace, file: ExportFile, inspected: Inspected, events: Events
) -> ImportReport:
    assets = ImportedAssets(tx, workspace)
    _import_fields(assets, file)
    _import_groups(assets, file)
    report = ImportReport(made=assets.made, renamed=[each.to_json() for each in file.renamed])
    report.flows = _import_flows(tx, workspace, assets, file, report.renamed, inspected)
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
        saved.append(_save(tx, workspace, one, linked, flow_id, inspection))
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
    tx: Transaction, workspace: Workspace, placed: PlacedFlow, flow: Flow, flow_id: int, inspection: Inspection
) -> dict[str, Any]:
    is_new = placed.flow_id is None
    is_changed = save_definition(tx, workspace.id, flow_id, flow, inspection, is_made=is_new)
    change = "created" if is_new else "updated" if is_changed else "unchanged"
    issues = [issue.to_json() for issue in inspection.issues]
    return {"uuid": placed.uuid, "name": placed.name, "change": change, "issues": issues}
