"""`relayboard user create`."""

import argparse
from typing import Any

from persistence.users import ROLES, add_member
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named


def register(commands: Any) -> None:
    parser = commands.add_parser("user", help="users and their roles")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="give a user a role in a workspace")
    create.add_argument("--workspace", required=True, metavar="UUID")
    create.add_argument("--email", required=True)
    create.add_argument("--first-name", default="")
    create.add_argument("--last-name", default="")
    create.add_argument("--role", required=True, choices=ROLES)
    create.set_defaults(run=run_create)


def run_create(options: argparse.Namespace) -> None:
    local, _, domain = options.email.strip().partition("@")
    if not local or "." not in domain:
        raise CommandFailed(f"{options.email} is no e-mail address")
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        names = {"first_name": options.first_name, "last_name": options.last_name}
        uuid = add_member(tx, workspace.id, options.email, options.role, **names)
    print_json({"uuid": uuid, "email": options.email, "role": options.role, "workspace": workspace.uuid, **names})
