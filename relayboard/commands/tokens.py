"""`relayboard token create|list|revoke`."""

from persistence.tokens import PREFIX, create_token, list_tokens, public_part, revoke_token
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
from relayboard.commands.secret_input import STANDARD_INPUT, read_secret
from relayboard.usage.parts import Options


def run_create(options: Options) -> None:
    settings = load_settings()
    with opened_database(settings) as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        user_id = find_member(tx, workspace.id, options.email)
        if user_id is None:
            raise CommandFailed(f"{options.email} is not a user of this workspace")
        token = create_token(tx, workspace.id, user_id, settings.secret_key, options.scope)
    print_json({"token": token, "scope": options.scope})


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(list_tokens(tx, workspace.id))


def run_revoke(options: Options) -> None:
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
