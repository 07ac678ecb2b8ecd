"""`relayboard start list|interrupt`."""

import argparse

from persistence.flow_starts.batches import interrupt_start
from persistence.flow_starts.v2 import STARTS
from persistence.lists import ListQuery, fetch_list, read_record
from persistence.sql.columns import is_uuid
from relayboard.commands.output import CommandFailed, print_record, print_records, reading_in, writing_in
from relayboard.commands.parser import Commands, add_noun, workspace_action

NEWEST = 250


def register(commands: Commands) -> None:
    actions = add_noun(commands, "start", "list and stop flow starts")
    workspace_action(actions, "list", run_list, f"the {NEWEST} the most recently changed starts of users")
    interrupt = workspace_action(
        actions, "interrupt", run_interrupt, "start no more contacts; contacts that were started continue"
    )
    interrupt.add_argument("--start", required=True, metavar="UUID", help="as `relayboard start list` names it")


def run_list(options: argparse.Namespace) -> None:
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), STARTS, None, NEWEST)
    print_records(page.records)


def run_interrupt(options: argparse.Namespace) -> None:
    if not is_uuid(options.start):
        raise CommandFailed(f"there is no start {options.start}")
    with writing_in(options) as (tx, workspace):
        start_id = interrupt_start(tx, workspace.id, options.start.lower())
        record = read_record(tx, STARTS, workspace, start_id)
    print_record(record)
