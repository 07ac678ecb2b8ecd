"""`relayboard ticketer create`."""

import argparse
from typing import Any

from persistence.lists import read_record
from persistence.ticketers import TICKETERS, TYPES, create_ticketer
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.parser import add_noun, workspace_action


def register(commands: Any) -> None:
    actions = add_noun(commands, "ticketer", "create places where tickets are kept")
    create = workspace_action(actions, "create", run_create, "a new ticketer")
    create.add_argument("--name", required=True, help="the name of the ticketer")
    create.add_argument("--type", required=True, choices=TYPES, help="the service behind it")


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        ticketer_id = create_ticketer(tx, workspace.id, options.name, options.type)
        record = read_record(tx, TICKETERS, workspace, ticketer_id)
    print_record(record)
