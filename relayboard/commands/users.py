"""`relayboard user create|list|change|remove`."""

import argparse
from typing import Any

import orjson

from persistence.database import Transaction
from persistence.lists import ListQuery, read_list
from persistence.members import change_role, remove_member
from persistence.users import ROLES, USERS, add_member
from persistence.workspaces import Workspace
from relayboard.commands.output import opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace


def register(commands: Any) -> None:
    parser = commands.add_parser("user", help="users and their roles")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="give a user a role in a workspace")
    add_workspace(create)
    _add_email(create)
    create.add_argument("--first-name", default="", help="counts for a user who is new to this server")
    create.add_argument("--last-name", default="", help="counts for a user who is new to this server")
    create.add_argument("--role", required=True, choices=ROLES, help="what the user may do")
    create.set_defaults(run=run_create)
    listing = actions.add_parser("list", help="the users of a workspace, those who joined last first")
    add_workspace(listing)
    listing.set_defaults(run=run_list)
    change = actions.add_parser("change", help="give a user of a workspace another role")
    add_workspace(change)
    _add_email(change)
    change.add_argument("--role", required=True, choices=ROLES, help="the role from now on")
    change.set_defaults(run=run_change)
    remove = actions.add_parser("remove", help="take a user out of a workspace; the user's tokens for it end")
    add_workspace(remove)
    _add_email(remove)
    remove.set_defaults(run=run_remove)


def _add_email(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--email", required=True, help="the user's e-mail address")


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        names = {"first_name": options.first_name, "last_name": options.last_name}
        add_member(tx, workspace.id, options.email, options.role, **names)
        record = _read(tx, workspace, options.email)
    print_json(record | {"workspace": workspace.uuid})


def run_list(options: argparse.Namespace) -> None:
    with opened_database() as database, database.reading() as tx:
        records = read_list(ListQuery(tx, workspace_named(tx, options.workspace)), USERS)
    print_json([orjson.loads(record) for record in records])


def run_change(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        change_role(tx, workspace.id, options.email, options.role)
        record = _read(tx, workspace, options.email)
    print_json(record)


def run_remove(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        remove_member(tx, workspace_named(tx, options.workspace).id, options.email)
    print_json({"removed": options.email})


def _read(tx: Transaction, workspace: Workspace, email: str) -> dict[str, Any]:
    (record,) = read_list(ListQuery(tx, workspace, {"email": [email.strip()]}), USERS)
    found: dict[str, Any] = orjson.loads(record)
    return found
