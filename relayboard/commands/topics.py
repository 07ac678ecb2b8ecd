"""`relayboard topic create`."""

import argparse
from typing import Any

from persistence.lists import read_record
from persistence.topics import TOPICS, create_topic
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.parser import add_noun, workspace_action


def register(commands: Any) -> None:
    actions = add_noun(commands, "topic", "create topics of tickets")
    create = workspace_action(actions, "create", run_create, "a new topic")
    create.add_argument("--name", required=True, help="the name of the topic")


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        topic_id = create_topic(tx, workspace.id, options.name)
        record = read_record(tx, TOPICS, workspace, topic_id)
    print_record(record)
