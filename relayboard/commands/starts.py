"""`relayboard start list|interrupt`."""

from persistence.flow_starts.batches import interrupt_start
from persistence.flow_starts.v2 import STARTS
from persistence.lists import ListQuery, fetch_list, read_record
from persistence.sql.columns import is_uuid
from relayboard.commands.output import CommandFailed, print_record, print_records, reading_in, writing_in
from relayboard.usage.parts import Options

NEWEST = 250


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), STARTS, None, NEWEST)
    print_records(page.records)


def run_interrupt(options: Options) -> None:
    if not is_uuid(options.start):
        raise CommandFailed(f"there is no start {options.start}")
    with writing_in(options) as (tx, workspace):
        start_id = interrupt_start(tx, workspace.id, options.start.lower())
        record = read_record(tx, STARTS, workspace, start_id)
    print_record(record)
