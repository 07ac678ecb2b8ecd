"""`relayboard token create|list|revoke`."""

from datetime import timedelta

from persistence.database import Transaction
from persistence.tokens import PREFIX, TokenLimits, create_token, list_tokens, public_part, revoke_token
from persistence.users import find_member
from persistence.workspaces.records import Workspace
from relayboard.base.settings import load_settings
from relayboard.commands.output import (
    CommandFailed,
    opened_database,
    print_json,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.secret_input import STANDARD_INPUT, read_secret
from relayboard.usage.parts import Options


def run_create(options: Options) -> None:
    settings = load_settings()
    with opened_database(settings) as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        user_id = find_member(tx, workspace.id, options.email)
        if user_id is None:
            raise CommandFailed(f"{options.email} is not a user of this workspace")
        expires_on = options.expires if options.days is None else tx.now + timedelta(days=options.days)
        limits = TokenLimits(options.name, expires_on, options.area or None)
        token = create_token(tx, workspace.id, user_id, settings.secret_key, options.scope, limits)
    shown = {"token": token, "scope": options.scope, "name": limits.name or None}
    print_json(shown | {"areas": limits.areas, "expires_on": expires_on})


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(_list_tokens(tx, workspace, options.email))


def run_revoke(options: Options) -> None:
    public = None if options.token is None else _public_part(options.token)
    with writing_in(options) as (tx, workspace):
        if public is not None and not revoke_token(tx, workspace.id, public):
            raise CommandFailed(f"there is no active token {public} in this workspace")
        own = [] if public is not None else [str(each["public"]) for each in _list_tokens(tx, workspace, options.email)]
        for each in own:
            revoke_token(tx, workspace.id, each)
    print_json({"revoked": own if public is None else public})


def _list_tokens(tx: Transaction, workspace: Workspace, email: str | None) -> list[dict[str, object]]:
    """All active tokens, or those of a user. Raises CommandFailed for somebody who is none."""
    tokens = list_tokens(tx, workspace.id)
    if email is None:
        return tokens
    if find_member(tx, workspace.id, email) is None:
        raise CommandFailed(f"{email} is not a user of this workspace")
    return [each for each in tokens if str(each["email"]).lower() == email.strip().lower()]


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
