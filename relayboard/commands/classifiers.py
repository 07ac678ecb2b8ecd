"""`relayboard classifier create`."""

import argparse
from typing import Any

from persistence.classifiers import CLASSIFIERS, TYPES, create_classifier
from persistence.lists import read_record
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.parser import add_noun, workspace_action


def register(commands: Any) -> None:
    actions = add_noun(commands, "classifier", "create services that find intents")
    create = workspace_action(actions, "create", run_create, "a new classifier")
    create.add_argument("--name", required=True, help="the name of the classifier")
    create.add_argument("--type", required=True, choices=TYPES, help="the service behind it")
    create.add_argument("--intent", action="append", default=[], help="repeat for each intent it knows")


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        classifier_id = create_classifier(tx, workspace.id, options.name, options.type, options.intent)
        record = read_record(tx, CLASSIFIERS, workspace, classifier_id)
    print_record(record)
