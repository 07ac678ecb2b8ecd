"""`relayboard flow import|export|list|archive|change|label`, and `run|check|draw` from other modules."""

import argparse
from dataclasses import asdict
from pathlib import Path

import orjson

from flows.definition.exports import Dependencies
from persistence.campaigns.v2 import find_campaign
from persistence.database import Transaction
from persistence.definitions.exporting import export_definitions, export_workspace
from persistence.definitions.importing import ImportReport, import_definitions
from persistence.flows.flows import find_flow
from persistence.flows.labels import add_flow_label, remove_flow_label
from persistence.flows.v2 import FLOWS, list_all_flows
from persistence.flows.writes import archive_flow, set_ignores_triggers
from persistence.lists import read_record
from persistence.sql.columns import is_uuid
from persistence.workspaces import Workspace
from relayboard.base.settings import load_settings
from relayboard.commands import flow_check, flow_draw, flow_run
from relayboard.commands.output import (
    CommandFailed,
    opened_database,
    print_json,
    print_record,
    print_records,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.parser import Commands, add_action, add_noun, add_workspace, workspace_action
from relayboard.flow_tools.files import read_document


def register(commands: Commands) -> None:
    actions = add_noun(commands, "flow", "import, list, label, archive, run, check and draw flows")
    importing = workspace_action(actions, "import", run_import, "import an export file; existing records are updated")
    importing.add_argument("--media-url", default="", metavar="URL", help="base URL of attachments in old files")
    importing.add_argument("file", type=Path, metavar="FILE", help="an export file, as JSON")
    exporting = workspace_action(actions, "export", run_export, "write flows and what they need as an export file")
    exporting.add_argument("--flow", action="append", default=[], metavar="UUID", help="a flow; default: all")
    exporting.add_argument("--campaign", action="append", default=[], metavar="UUID", help="a campaign")
    exporting.add_argument(
        "--dependencies",
        choices=[each.value for each in Dependencies],
        default=Dependencies.ALL.value,
        help="what else to include: other flows and triggers, also campaigns (all), or nothing",
    )
    exporting.add_argument("-o", "--output", type=Path, metavar="FILE", help="the file to write; default: stdout")
    workspace_action(actions, "list", run_list, "the flows of a workspace")
    archive = add_action(actions, "archive", run_archive, "archive a flow and interrupt the contacts in it")
    _add_flow(archive)
    change = add_action(actions, "change", run_change, "settings of a flow that are not in its definition")
    _add_flow(change)
    change.add_argument(
        "--ignore-triggers",
        required=True,
        choices=("yes", "no"),
        help="keywords do not start other flows while a contact is in this flow",
    )
    label = add_action(actions, "label", run_label, "label a flow")
    _add_flow(label)
    label.add_argument("--name", required=True, help="the label; created if it is new")
    label.add_argument("--remove", action="store_true", help="remove the label")
    for module in (flow_run, flow_check, flow_draw):
        module.register(actions)


def _add_flow(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    parser.add_argument("--flow", required=True, metavar="UUID", help="the flow, as `relayboard flow list` names it")


def run_import(options: argparse.Namespace) -> None:
    document = read_document(options.file)

    def bring_in(tx: Transaction) -> ImportReport:
        workspace = workspace_named(tx, options.workspace)
        return import_definitions(tx, workspace, document, media_url=options.media_url)

    with opened_database() as database:
        report = database.write(bring_in)
    print_json(asdict(report))


def run_export(options: argparse.Namespace) -> None:
    settings = load_settings()
    with opened_database(settings) as database, database.reading() as tx:
        workspace = workspace_named(tx, options.workspace)
        written = _export(tx, workspace, options, settings.base_url)
    if options.output is None:
        print_json(orjson.Fragment(written))
        return
    try:
        options.output.write_bytes(written + b"\n")
    except OSError as error:
        raise CommandFailed(f"{options.output} cannot be written: {error.strerror}") from error


def _export(tx: Transaction, workspace: Workspace, options: argparse.Namespace, site: str) -> bytes:
    if not options.flow and not options.campaign:
        return export_workspace(tx, workspace, site=site)
    for uuid in options.flow:
        _flow_named(tx, workspace, uuid)
    for uuid in options.campaign:
        if not is_uuid(uuid) or find_campaign(tx, workspace.id, uuid) is None:
            raise CommandFailed(f"there is no campaign {uuid}")
    dependencies = Dependencies(options.dependencies)
    return export_definitions(tx, workspace, options.flow, options.campaign, dependencies=dependencies, site=site)


def run_list(options: argparse.Namespace) -> None:
    with reading_in(options) as (tx, workspace):
        records = list_all_flows(tx, workspace)
    print_records(records)


def run_archive(options: argparse.Namespace) -> None:
    with opened_database() as database:
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
            flow_id = _flow_named(tx, workspace, options.flow)
        archive_flow(database, workspace.id, flow_id)
        with database.reading() as tx:
            record = read_record(tx, FLOWS, workspace, flow_id)
    print_record(record)


def run_change(options: argparse.Namespace) -> None:
    ignores_triggers = options.ignore_triggers == "yes"
    with writing_in(options) as (tx, workspace):
        flow_id = _flow_named(tx, workspace, options.flow)
        set_ignores_triggers(tx, workspace.id, flow_id, ignores_triggers=ignores_triggers)
        record = orjson.loads(read_record(tx, FLOWS, workspace, flow_id))
    print_json(record | {"ignores_triggers": ignores_triggers})


def run_label(options: argparse.Namespace) -> None:
    change = remove_flow_label if options.remove else add_flow_label
    with writing_in(options) as (tx, workspace):
        flow_id = _flow_named(tx, workspace, options.flow)
        change(tx, workspace.id, flow_id, options.name)
        record = read_record(tx, FLOWS, workspace, flow_id)
    print_record(record)


def _flow_named(tx: Transaction, workspace: Workspace, uuid: str) -> int:
    flow_id = find_flow(tx, workspace.id, uuid) if is_uuid(uuid) else None
    if flow_id is None:
        raise CommandFailed(f"there is no flow {uuid}")
    return flow_id
