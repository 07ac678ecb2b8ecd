"""`relayboard flow archive`."""

from persistence.flows.archiving import archive_flow
from persistence.flows.records import FLOWS
from persistence.lists import read_record
from relayboard.commands.flows import flow_named
from relayboard.commands.output import opened_database, print_record, workspace_named
from relayboard.usage.parts import Options


def run_archive(options: Options) -> None:
    with opened_database() as database:
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
            flow_id = flow_named(tx, workspace, options.flow)
        archive_flow(database, workspace.id, flow_id)
        with database.reading() as tx:
            record = read_record(tx, FLOWS, workspace, flow_id)
    print_record(record)
