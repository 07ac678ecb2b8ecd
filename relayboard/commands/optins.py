"""`relayboard optin create`."""

import argparse
from typing import Any

import orjson

from persistence.lists import read_record
from persistence.optins import OPTINS, create_optin
from relayboard.commands.output import opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace


def register(commands: Any) -> None:
    parser = commands.add_parser("optin", help="create subjects that contacts can agree to hear about")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new opt-in")
    add_workspace(create)
    create.add_argument("--name", required=True, help="the name of the opt-in")
    create.set_defaults(run=run_create)


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        optin_id = create_optin(tx, workspace.id, options.name)
        record = read_record(tx, OPTINS, workspace, optin_id)
    print_json(orjson.loads(record))
