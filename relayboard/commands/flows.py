"""`relayboard flow list|change|label`."""

import orjson

from persistence.database import Transaction
from persistence.flows.records import (
    FLOWS,
    add_flow_label,
    find_flow,
    list_all_flows,
    remove_flow_label,
    set_ignores_triggers,
)
from persistence.lists import read_record
from persistence.sql.columns import is_uuid
from persistence.workspaces import Workspace
from relayboard.commands.output import CommandFailed, print_json, print_record, print_records, reading_in, writing_in
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        records = list_all_flows(tx, workspace)
    print_records(records)


def run_change(options: Options) -> None:
    ignores_triggers = options.ignore_triggers == "yes"
    with writing_in(options) as (tx, workspace):
        flow_id = flow_named(tx, workspace, options.flow)
        set_ignores_triggers(tx, workspace.id, flow_id, ignores_triggers=ignores_triggers)
        record = orjson.loads(read_record(tx, FLOWS, workspace, flow_id))
    print_json(record | {"ignores_triggers": ignores_triggers})


def run_label(options: Options) -> None:
    change = remove_flow_label if options.remove else add_flow_label
    with writing_in(options) as (tx, workspace):
        flow_id = flow_named(tx, workspace, options.flow)
        change(tx, workspace.id, flow_id, options.name)
        record = read_record(tx, FLOWS, workspace, flow_id)
    print_record(record)


def flow_named(tx: Transaction, workspace: Workspace, uuid: str) -> int:
    """The id of a flow. Raises CommandFailed."""
    flow_id = find_flow(tx, workspace.id, uuid) if is_uuid(uuid) else None
    if flow_id is None:
        raise CommandFailed(f"there is no flow {uuid}")
    return flow_id
