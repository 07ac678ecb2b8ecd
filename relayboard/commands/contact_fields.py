"""`relayboard field create|access`."""

import argparse
from typing import Any

import orjson

from persistence.errors import RecordMissing
from persistence.fields import ACCESSES, FIELDS, TYPES, create_field, require_field, set_agent_access
from persistence.lists import read_record
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace


def register(commands: Any) -> None:
    parser = commands.add_parser("field", help="create contact fields, and say what agents may do with them")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new field")
    add_workspace(create)
    create.add_argument("--name", required=True, help="the name; its key is made of it")
    create.add_argument("--type", choices=TYPES, default="text", help="what its values are; default: text")
    create.add_argument("--agents", choices=ACCESSES, default="view", help="what agents may do with its values")
    create.set_defaults(run=run_create)
    access = actions.add_parser("access", help="what agents may do with a field")
    add_workspace(access)
    access.add_argument("--key", required=True, help="the key of the field, as the API names it")
    access.add_argument("--agents", choices=ACCESSES, required=True, help="nothing, look, or change")
    access.set_defaults(run=run_access)


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        field_id = create_field(tx, workspace.id, options.name, options.type)
        set_agent_access(tx, workspace.id, field_id, options.agents)
        record = read_record(tx, FIELDS, workspace, field_id)
    print_json(orjson.loads(record))


def run_access(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        try:
            field_id = require_field(tx, workspace.id, options.key).id
        except RecordMissing as error:
            raise CommandFailed(f"there is no field {options.key}") from error
        set_agent_access(tx, workspace.id, field_id, options.agents)
        record = read_record(tx, FIELDS, workspace, field_id)
    print_json(orjson.loads(record))
