"""`relayboard resthook create`."""

import argparse
from typing import Any

import orjson

from persistence.resthooks import ensure_resthook, read_resthook
from relayboard.commands.output import opened_database, print_json, workspace_named


def register(commands: Any) -> None:
    parser = commands.add_parser("resthook", help="create resthooks")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new resthook; one that exists is shown")
    create.add_argument("--workspace", required=True, metavar="UUID")
    create.add_argument("--slug", required=True, help="letters, digits, hyphens and underscores")
    create.set_defaults(run=run_create)


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        resthook_id = ensure_resthook(tx, workspace.id, options.slug)
        record = read_resthook(tx, workspace.id, resthook_id)
    print_json(orjson.loads(record))
