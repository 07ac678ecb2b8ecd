"""`relayboard flow import|export|list|archive|change|label`, and `run|check|draw` from other modules."""

from dataclasses import asdict

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
from relayboard.commands.printing import print_line
from relayboard.flow_tools.files import read_document
from relayboard.usage.parts import Options


def run_import(options: Options) -> None:
    document = read_document(options.file)

    def bring_in(tx: Transaction) -> ImportReport:
        workspace = workspace_named(tx, options.workspace)
        return import_definitions(tx, workspace, document, media_url=options.media_url)

    with opened_database() as database:
        report = database.write(bring_in)
    print_json(asdict(report))


def run_export(options: Options) -> None:
    settings = load_settings()
    with opened_database(settings) as database, database.reading() as tx:
        workspace = workspace_named(tx, options.workspace)
        written = _export(tx, workspace, options, settings.base_url)
    if options.output is None:
        print_line(orjson.Fragment(written))
        return
    try:
        options.output.write_bytes(written + b"\n")
    except OSError as error:
        raise CommandFailed(f"{options.output} cannot be written: {error.strerror}") from error


def _export(tx: Transaction, workspace: Workspace, options: Options, site: str) -> bytes:
    if not options.flow and not options.campaign:
        return export_workspace(tx, workspace, site=site)
    for uuid in options.flow:
        _flow_named(tx, workspace, uuid)
    for uuid in options.campaign:
        if not is_uuid(uuid) or find_campaign(tx, workspace.id, uuid) is None:
            raise CommandFailed(f"there is no campaign {uuid}")
    dependencies = Dependencies(options.dependencies)
    return export_definitions(tx, workspace, options.flow, options.campaign, dependencies=dependencies, site=site)


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        records = list_all_flows(tx, workspace)
    print_records(records)


def run_archive(options: Options) -> None:
    with opened_database() as database:
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
            flow_id = _flow_named(tx, workspace, options.flow)
        archive_flow(database, workspace.id, flow_id)
        with database.reading() as tx:
            record = read_record(tx, FLOWS, workspace, flow_id)
    print_record(record)


def run_change(options: Options) -> None:
    ignores_triggers = options.ignore_triggers == "yes"
    with writing_in(options) as (tx, workspace):
        flow_id = _flow_named(tx, workspace, options.flow)
        set_ignores_triggers(tx, workspace.id, flow_id, ignores_triggers=ignores_triggers)
        record = orjson.loads(read_record(tx, FLOWS, workspace, flow_id))
    print_json(record | {"ignores_triggers": ignores_triggers})


def run_label(options: Options) -> None:
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
