"""`relayboard classifier create`."""

import argparse
from typing import Any

import orjson

from persistence.classifiers import CLASSIFIERS, TYPES, create_classifier
from persistence.lists import read_record
from relayboard.commands.output import opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace


def register(commands: Any) -> None:
    parser = commands.add_parser("classifier", help="create services that find intents")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new classifier")
    add_workspace(create)
    create.add_argument("--name", required=True, help="the name of the classifier")
    create.add_argument("--type", required=True, choices=TYPES, help="the service behind it")
    create.add_argument("--intent", action="append", default=[], help="repeat for each intent it knows")
    create.set_defaults(run=run_create)


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        classifier_id = create_classifier(tx, workspace.id, options.name, options.type, options.intent)
        record = read_record(tx, CLASSIFIERS, workspace, classifier_id)
    print_json(orjson.loads(record))
