"""`relayboard group create`."""

import argparse
from typing import Any

import orjson

from persistence.groups.groups import GROUPS, create_group
from persistence.groups.smart_groups import create_query_group
from persistence.lists import read_record
from relayboard.commands.output import opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace


def register(commands: Any) -> None:
    parser = commands.add_parser("group", help="create groups")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new group")
    add_workspace(create)
    create.add_argument("--name", required=True, help="the name of the group")
    create.add_argument("--query", metavar="Q", help="whom it holds, found by a worker: 'fields.age >= 18'")
    create.set_defaults(run=run_create)


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        if options.query is None:
            group_id = create_group(tx, workspace.id, options.name)
        else:
            group_id = create_query_group(tx, workspace, options.name, options.query)
        record = read_record(tx, GROUPS, workspace, group_id)
    print_json(orjson.loads(record))
