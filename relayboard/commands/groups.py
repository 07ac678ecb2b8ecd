"""`relayboard group create`."""

import argparse
from typing import Any

from persistence.groups.groups import GROUPS, create_group
from persistence.groups.smart_groups import create_query_group
from persistence.lists import read_record
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.parser import add_noun, workspace_action


def register(commands: Any) -> None:
    actions = add_noun(commands, "group", "create groups")
    create = workspace_action(actions, "create", run_create, "a new group")
    create.add_argument("--name", required=True, help="the name of the group")
    create.add_argument("--query", metavar="Q", help="whom it holds, found by a worker: 'fields.age >= 18'")


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        if options.query is None:
            group_id = create_group(tx, workspace.id, options.name)
        else:
            group_id = create_query_group(tx, workspace, options.name, options.query)
        record = read_record(tx, GROUPS, workspace, group_id)
    print_record(record)
