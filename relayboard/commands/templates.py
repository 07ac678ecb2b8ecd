"""`relayboard template create`."""

import argparse
from typing import Any

from persistence.lists import read_record
from persistence.templates import STATUSES, TEMPLATES, Translation, set_translation
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.parser import add_noun, workspace_action


def register(commands: Any) -> None:
    actions = add_noun(commands, "template", "texts that a gateway approved in advance")
    create = workspace_action(actions, "create", run_create, "a new template, or one more translation of a known one")
    create.add_argument("--name", required=True, help="its name at the gateway")
    create.add_argument("--channel", required=True, metavar="UUID", help="the channel it is approved for")
    create.add_argument("--locale", required=True, help="language and country, for example swa-KE")
    create.add_argument("--content", required=True, help="text with variables {{1}}, {{2}}, ...")
    create.add_argument("--namespace", default="", help="where the gateway keeps it, if it says so")
    create.add_argument("--status", choices=STATUSES, default=STATUSES[0], help=f"default: {STATUSES[0]}")


def run_create(options: argparse.Namespace) -> None:
    translation = Translation(options.channel, options.locale, options.content, options.namespace, options.status)
    with writing_in(options) as (tx, workspace):
        template_id = set_translation(tx, workspace.id, options.name, translation)
        record = read_record(tx, TEMPLATES, workspace, template_id)
    print_record(record)
