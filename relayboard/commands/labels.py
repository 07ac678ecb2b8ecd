"""`relayboard label create`."""

import argparse
from typing import Any

from persistence.labels import LABELS, create_label
from persistence.lists import read_record
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.parser import add_noun, workspace_action


def register(commands: Any) -> None:
    actions = add_noun(commands, "label", "create labels")
    create = workspace_action(actions, "create", run_create, "a new label")
    create.add_argument("--name", required=True, help="the name of the label")


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        label_id = create_label(tx, workspace.id, options.name)
        record = read_record(tx, LABELS, workspace, label_id)
    print_record(record)
