"""`relayboard start list|interrupt`."""

import argparse
from typing import Any

import orjson

from persistence.flow_starts.batches import interrupt_start
from persistence.flow_starts.v2 import list_starts, read_start
from persistence.sql.columns import is_uuid
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace

NEWEST = 250


def register(commands: Any) -> None:
    parser = commands.add_parser("start", help="list and stop flow starts")
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help=f"the {NEWEST} starts of users that changed last")
    add_workspace(listing)
    listing.set_defaults(run=run_list)
    interrupt = actions.add_parser("interrupt", help="start nobody more; who was started goes on")
    add_workspace(interrupt)
    interrupt.add_argument("--start", required=True, metavar="UUID", help="as `relayboard start list` names it")
    interrupt.set_defaults(run=run_interrupt)


def run_list(options: argparse.Namespace) -> None:
    with opened_database() as database, database.reading() as tx:
        workspace = workspace_named(tx, options.workspace)
        page = list_starts(tx, workspace.id, None, NEWEST)
    print_json([orjson.loads(record) for record in page.records])


def run_interrupt(options: argparse.Namespace) -> None:
    if not is_uuid(options.start):
        raise CommandFailed(f"there is no start {options.start}")
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        start_id = interrupt_start(tx, workspace.id, options.start.lower())
        record = read_start(tx, workspace.id, start_id)
    print_json(orjson.loads(record))
