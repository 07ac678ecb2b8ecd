"""`relayboard global create`."""

import argparse
from typing import Any

from persistence.globals import GLOBALS, create_global
from persistence.lists import read_record
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.parser import add_noun, workspace_action
from relayboard.commands.secret_input import add_text, given_text


def register(commands: Any) -> None:
    actions = add_noun(commands, "global", "create values that flows share")
    create = workspace_action(actions, "create", run_create, "a new global")
    create.add_argument(
        "--name", required=True, help="the name; flows know it as @globals. and the name in small letters"
    )
    add_text(create, "--value", required=True, help="what flows put in its place")


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        global_id = create_global(tx, workspace.id, options.name, given_text(options, "value") or "")
        record = read_record(tx, GLOBALS, workspace, global_id)
    print_record(record)
