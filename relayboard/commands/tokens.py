"""`relayboard token create|list|revoke`."""

import argparse

from persistence.tokens import PREFIX, SCOPES, create_token, list_tokens, public_part, revoke_token
from persistence.users import find_member
from relayboard.base.settings import load_settings
from relayboard.commands.output import (
    CommandFailed,
    opened_database,
    print_json,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.parser import Commands, add_noun, workspace_action
from relayboard.commands.secret_input import STANDARD_INPUT, read_secret


def register(commands: Commands) -> None:
    actions = add_noun(commands, "token", "API tokens")
    create = workspace_action(actions, "create", run_create, "a new token, shown once")
    create.add_argument("--email", required=True, help="its owner: a user of the workspace")
    create.add_argument(
        "--scope", choices=SCOPES, default="write", help="what it may do; default: write, which includes read"
    )
    workspace_action(actions, "list", run_list, "the active tokens, without their secrets")
    revoke = workspace_action(actions, "revoke", run_revoke, "revoke a token")
    revoke.add_argument(
        "token",
        metavar="PUBLIC",
        help="its public part, as `relayboard token list` shows it; - reads the whole token from standard input",
    )


def run_create(options: argparse.Namespace) -> None:
    settings = load_settings()
    with opened_database(settings) as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        user_id = find_member(tx, workspace.id, options.email)
        if user_id is None:
            raise CommandFailed(f"{options.email} is not a user of this workspace")
        token = create_token(tx, workspace.id, user_id, settings.secret_key, options.scope)
    print_json({"token": token, "scope": options.scope})


def run_list(options: argparse.Namespace) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(list_tokens(tx, workspace.id))


def run_revoke(options: argparse.Namespace) -> None:
    public = _public_part(options.token)
    with writing_in(options) as (tx, workspace):
        if not revoke_token(tx, workspace.id, public):
            raise CommandFailed(f"there is no active token {public} in this workspace")
    print_json({"revoked": public})


def _public_part(given: str) -> str:
    if given == STANDARD_INPUT:
        public = public_part(read_secret(STANDARD_INPUT))
        if public is None:
            raise CommandFailed("standard input contains no token")
        return public
    whole = public_part(given)
    if whole is not None:
        raise CommandFailed(f"a token is a secret and cannot be an argument: give its public part, {whole}")
    return given.removeprefix(PREFIX)
