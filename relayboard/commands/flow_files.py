"""`relayboard flow import|export`."""

from dataclasses import asdict

import orjson

from flows.definition.exports import Dependencies
from persistence.campaigns.records import find_campaign
from persistence.database import Transaction
from persistence.definitions.exporting import export_definitions, export_workspace
from persistence.definitions.importing import ImportReport, import_definitions
from persistence.sql.columns import is_uuid
from persistence.workspaces import Workspace
from relayboard.base.settings import load_settings
from relayboard.commands.flows import flow_named
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.printing import print_line
from relayboard.commands.progress import show_progress
from relayboard.flow_tools.files import read_document
from relayboard.usage.parts import Options


def run_import(options: Options) -> None:
    document = read_document(options.file)

    def bring_in(tx: Transaction) -> ImportReport:
        workspace = workspace_named(tx, options.workspace)
        networks = load_settings().webhook_allowed_networks
        return import_definitions(tx, workspace, document, media_url=options.media_url, networks=networks)

    with opened_database() as database, show_progress("Importing"):
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
        flow_named(tx, workspace, uuid)
    for uuid in options.campaign:
        if not is_uuid(uuid) or find_campaign(tx, workspace.id, uuid) is None:
            raise CommandFailed(f"there is no campaign {uuid}")
    dependencies = Dependencies(options.dependencies)
    return export_definitions(tx, workspace, options.flow, options.campaign, dependencies=dependencies, site=site)
