"""`relayboard global create`."""

import argparse
from typing import Any

import orjson

from persistence.globals import GLOBALS, create_global
from persistence.lists import read_record
from relayboard.commands.output import opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace
from relayboard.commands.secret_input import add_text, given_text


def register(commands: Any) -> None:
    parser = commands.add_parser("global", help="create values that flows share")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new global")
    add_workspace(create)
    create.add_argument(
        "--name", required=True, help="the name; flows know it as @globals. and the name in small letters"
    )
    add_text(create, "--value", required=True, help="what flows put in its place")
    create.set_defaults(run=run_create)


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        global_id = create_global(tx, workspace.id, options.name, given_text(options, "value") or "")
        record = read_record(tx, GLOBALS, workspace, global_id)
    print_json(orjson.loads(record))
