"""`relayboard user create|list|change|remove`."""

import argparse
from typing import Any

import orjson

from persistence.database import Transaction
from persistence.lists import ListQuery, read_list
from persistence.users import ROLES, USERS, add_member, change_role, remove_member
from persistence.workspaces import Workspace
from relayboard.commands.output import print_json, print_records, reading_in, writing_in
from relayboard.commands.parser import Commands, add_noun, workspace_action


def register(commands: Commands) -> None:
    actions = add_noun(commands, "user", "users and their roles")
    create = workspace_action(actions, "create", run_create, "give a user a role in a workspace")
    _add_email(create)
    create.add_argument("--first-name", default="", help="used only for a user who is new to this server")
    create.add_argument("--last-name", default="", help="used only for a user who is new to this server")
    create.add_argument("--role", required=True, choices=ROLES, help="what the user may do")
    workspace_action(actions, "list", run_list, "the users of a workspace, the most recently joined first")
    change = workspace_action(actions, "change", run_change, "give a user of a workspace another role")
    _add_email(change)
    change.add_argument("--role", required=True, choices=ROLES, help="the new role")
    remove = workspace_action(
        actions, "remove", run_remove, "remove a user from a workspace and revoke the user's tokens for it"
    )
    _add_email(remove)


def _add_email(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--email", required=True, help="the user's e-mail address")


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        names = {"first_name": options.first_name, "last_name": options.last_name}
        add_member(tx, workspace.id, options.email, options.role, **names)
        record = _read(tx, workspace, options.email)
    print_json(record | {"workspace": workspace.uuid})


def run_list(options: argparse.Namespace) -> None:
    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), USERS)
    print_records(records)


def run_change(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        change_role(tx, workspace.id, options.email, options.role)
        record = _read(tx, workspace, options.email)
    print_json(record)


def run_remove(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        remove_member(tx, workspace.id, options.email)
    print_json({"removed": options.email})


def _read(tx: Transaction, workspace: Workspace, email: str) -> dict[str, Any]:
    (record,) = read_list(ListQuery(tx, workspace, {"email": [email.strip()]}), USERS)
    found: dict[str, Any] = orjson.loads(record)
    return found
