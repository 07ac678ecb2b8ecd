"""`relayboard topic create`."""

import argparse
from typing import Any

import orjson

from persistence.lists import read_record
from persistence.topics import TOPICS, create_topic
from relayboard.commands.output import opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace


def register(commands: Any) -> None:
    parser = commands.add_parser("topic", help="create topics of tickets")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new topic")
    add_workspace(create)
    create.add_argument("--name", required=True, help="the name of the topic")
    create.set_defaults(run=run_create)


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        topic_id = create_topic(tx, workspace.id, options.name)
        record = read_record(tx, TOPICS, workspace, topic_id)
    print_json(orjson.loads(record))
