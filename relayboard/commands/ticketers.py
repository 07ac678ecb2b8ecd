"""`relayboard ticketer create`."""

import argparse
from typing import Any

import orjson

from persistence.lists import read_record
from persistence.ticketers import TICKETERS, TYPES, create_ticketer
from relayboard.commands.output import opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace


def register(commands: Any) -> None:
    parser = commands.add_parser("ticketer", help="create places where tickets are kept")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new ticketer")
    add_workspace(create)
    create.add_argument("--name", required=True, help="the name of the ticketer")
    create.add_argument("--type", required=True, choices=TYPES, help="the service behind it")
    create.set_defaults(run=run_create)


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        ticketer_id = create_ticketer(tx, workspace.id, options.name, options.type)
        record = read_record(tx, TICKETERS, workspace, ticketer_id)
    print_json(orjson.loads(record))
