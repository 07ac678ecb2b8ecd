"""`relayboard optin create`."""

import argparse
from typing import Any

from persistence.lists import read_record
from persistence.optins import OPTINS, create_optin
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.parser import add_noun, workspace_action


def register(commands: Any) -> None:
    actions = add_noun(commands, "optin", "create subjects that contacts can agree to hear about")
    create = workspace_action(actions, "create", run_create, "a new opt-in")
    create.add_argument("--name", required=True, help="the name of the opt-in")


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        optin_id = create_optin(tx, workspace.id, options.name)
        record = read_record(tx, OPTINS, workspace, optin_id)
    print_record(record)
