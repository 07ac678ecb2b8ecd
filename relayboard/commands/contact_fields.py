"""`relayboard field create|access`."""

import argparse

from persistence.errors import RecordMissing
from persistence.fields import ACCESSES, FIELDS, TYPES, create_field, require_field, set_agent_access
from persistence.lists import read_record
from relayboard.commands.output import CommandFailed, print_record, writing_in
from relayboard.commands.parser import Commands, add_noun, workspace_action


def register(commands: Commands) -> None:
    actions = add_noun(commands, "field", "create contact fields, and say what agents may do with them")
    create = workspace_action(actions, "create", run_create, "a new field")
    create.add_argument("--name", required=True, help="the name; the key is derived from it")
    create.add_argument("--type", choices=TYPES, default="text", help="the type of its values; default: text")
    create.add_argument("--agents", choices=ACCESSES, default="view", help="what agents may do with its values")
    access = workspace_action(actions, "access", run_access, "what agents may do with a field")
    access.add_argument("--key", required=True, help="the key of the field, as the API names it")
    access.add_argument("--agents", choices=ACCESSES, required=True, help="no access, read, or read and change")


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        field_id = create_field(tx, workspace.id, options.name, options.type)
        set_agent_access(tx, workspace.id, field_id, options.agents)
        record = read_record(tx, FIELDS, workspace, field_id)
    print_record(record)


def run_access(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        try:
            field_id, _, _ = require_field(tx, workspace.id, options.key)
        except RecordMissing as error:
            raise CommandFailed(f"there is no field {options.key}") from error
        set_agent_access(tx, workspace.id, field_id, options.agents)
        record = read_record(tx, FIELDS, workspace, field_id)
    print_record(record)
