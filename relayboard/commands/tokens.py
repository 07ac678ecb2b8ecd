"""`relayboard token create|list|revoke`."""

import argparse
from typing import Any

from persistence.tokens import SCOPES, create_token, list_tokens, public_part, revoke_token
from persistence.users import find_member
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.settings import load_settings


def register(commands: Any) -> None:
    parser = commands.add_parser("token", help="API tokens")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new token, shown once")
    create.add_argument("--workspace", required=True, metavar="UUID")
    create.add_argument("--email", required=True)
    create.add_argument("--scope", choices=SCOPES, default="write")
    create.set_defaults(run=run_create)
    listing = actions.add_parser("list", help="the living tokens, without their secrets")
    listing.add_argument("--workspace", required=True, metavar="UUID")
    listing.set_defaults(run=run_list)
    revoke = actions.add_parser("revoke", help="end a token; give it whole or its public part")
    revoke.add_argument("--workspace", required=True, metavar="UUID")
    revoke.add_argument("token")
    revoke.set_defaults(run=run_revoke)


def run_create(options: argparse.Namespace) -> None:
    settings = load_settings()
    with opened_database(settings) as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        user_id = find_member(tx, workspace.id, options.email)
        if user_id is None:
            raise CommandFailed(f"{options.email} is no user of this workspace")
        token = create_token(tx, workspace.id, user_id, settings.secret_key, options.scope)
    print_json({"token": token, "scope": options.scope})


def run_list(options: argparse.Namespace) -> None:
    with opened_database() as database, database.reading() as tx:
        print_json(list_tokens(tx, workspace_named(tx, options.workspace).id))


def run_revoke(options: argparse.Namespace) -> None:
    public = public_part(options.token) or options.token
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        if not revoke_token(tx, workspace.id, public):
            raise CommandFailed("there is no such living token")
    print_json({"revoked": public})
