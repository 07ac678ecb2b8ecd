"""`relayboard user ...`, `invitation ...` and `session ...`: people, their passwords, and where they are signed in."""

import sys
from typing import TYPE_CHECKING, Any

import click
import orjson

from persistence.database import Transaction
from persistence.lists import ListQuery, read_list
from persistence.sql.columns import is_uuid
from persistence.workspaces.records import Workspace
from relayboard.base.settings import load_settings
from relayboard.commands.output import (
    opened_database,
    print_json,
    print_record,
    print_records,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.secret_input import STANDARD_INPUT, read_secret
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options

if TYPE_CHECKING:
    from persistence.accounts.accounts import Account, Ended


def run_create(options: Options) -> None:
    from persistence.accounts.accounts import read_account
    from persistence.users import add_member

    with writing_in(options) as (tx, workspace):
        names = {"first_name": options.first_name, "last_name": options.last_name}
        joined = add_member(tx, workspace.id, options.email, options.role, **names)
        record = _read(tx, workspace, options.email)
        found = read_account(tx, joined.id)
    if joined.ended is not None:
        tell_of_ended(found.email)
    print_json(record | {"workspace": workspace.uuid} | _show(joined.ended))


def run_list(options: Options) -> None:
    from persistence.users import USERS

    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), USERS)
    print_records(records)


def run_show(options: Options) -> None:
    from persistence.users import USERS

    with reading_in(options) as (tx, workspace):
        found = read_list(ListQuery(tx, workspace, {"email": [options.email.strip()]}), USERS)
    if not found:
        raise CommandFailed(f"{options.email} is not a user of this workspace")
    print_record(found[0])


def run_change(options: Options) -> None:
    from persistence.users import change_role

    with writing_in(options) as (tx, workspace):
        change_role(tx, workspace.id, options.email, options.role)
        record = _read(tx, workspace, options.email)
    print_json(record)


def run_remove(options: Options) -> None:
    from persistence.users import remove_member

    with writing_in(options) as (tx, workspace):
        remove_member(tx, workspace.id, options.email)
    print_json({"removed": options.email})


def run_password(options: Options) -> None:
    from persistence.accounts.accounts import end_unproven, forgive_account, set_password
    from persistence.accounts.passwords import Passwords, check_password
    from persistence.accounts.sign_ins import end_other_sign_ins
    from persistence.accounts.signing_in import clear_two_factor

    with opened_database() as database:
        with database.reading() as tx:
            found = account_named(tx, options.email)
        password = _read_password()
        check_password(password, found.email)
        stored = Passwords().hash(password)
        with database.writing() as tx:
            unproven = end_unproven(tx, found.user_id)
            set_password(tx, found.user_id, stored)
            if options.drop_two_factor:
                clear_two_factor(tx, found.user_id)
            forgive_account(tx, found.email)
            ended = end_other_sign_ins(tx, found.user_id)
    if unproven is not None:
        tell_of_ended(found.email)
        ended = unproven.sessions
    print_json({"changed": found.email, "sessions_ended": ended})


def run_invite(options: Options) -> None:
    from persistence.accounts.invitations import invite

    settings = load_settings()
    root = (options.url or settings.base_url).rstrip("/")
    if not root.startswith(("http://", "https://")):
        raise CommandFailed("the link needs the URL of the service: give --url, or set RELAYBOARD_BASE_URL")
    with opened_database(settings) as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        made = invite(tx, workspace, options.email, options.role, root, settings)
    print_json({"email": options.email, "role": options.role, "link": made.link, "mailed": made.is_mailed})


def run_list_invitations(options: Options) -> None:
    from persistence.accounts.invitations import INVITATIONS

    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), INVITATIONS)
    print_records(records)


def run_withdraw(options: Options) -> None:
    from persistence.accounts.invitations import withdraw_invitation

    if not is_uuid(options.uuid):
        raise CommandFailed(f"there is no invitation {options.uuid}")
    with writing_in(options) as (tx, workspace):
        withdraw_invitation(tx, workspace.id, options.uuid)
    print_json({"withdrawn": options.uuid})


def run_list_sessions(options: Options) -> None:
    from persistence.accounts.sign_ins import read_sign_ins

    with opened_database() as database, database.reading() as tx:
        records = read_sign_ins(tx, account_named(tx, options.email).user_id)
    print_records(records)


def run_end(options: Options) -> None:
    from persistence.accounts.sign_ins import end_other_sign_ins

    if options.session is None and options.email is None:
        raise CommandFailed("whose session? Give SESSION, or --email for all sessions of a user")
    with opened_database() as database, database.writing() as tx:
        user_id = None if options.email is None else account_named(tx, options.email).user_id
        if options.session is not None:
            _end_one(tx, options.session, user_id)
            ended = 1
        else:
            assert user_id is not None
            ended = end_other_sign_ins(tx, user_id)
    print_json({"ended": ended})


def tell_of_ended(email: str) -> None:
    """What the operator must know of an unproven account that ended."""
    said = f"Nobody had proved {email}: the password, second factor, sessions and tokens of an invitation have ended."
    click.echo(said, err=True)


def account_named(tx: Transaction, email: str) -> "Account":
    from persistence.accounts.accounts import find_account

    found = find_account(tx, email)
    if found is None:
        raise CommandFailed(f"there is no user {email}")
    return found


def _show(ended: "Ended | None") -> dict[str, Any]:
    if ended is None:
        return {}
    lost = {"two_factor": ended.two_factor, "sessions": ended.sessions, "tokens": ended.tokens}
    return {"ended": {"password": True, **lost}}


def _read(tx: Transaction, workspace: Workspace, email: str) -> dict[str, Any]:
    from persistence.users import USERS

    (record,) = read_list(ListQuery(tx, workspace, {"email": [email.strip()]}), USERS)
    found: dict[str, Any] = orjson.loads(record)
    return found


def _read_password() -> str:
    """A password that is typed twice on a terminal, or the line of standard input."""
    if not sys.stdin.isatty():
        return read_secret(STANDARD_INPUT)
    text: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return text


def _end_one(tx: Transaction, uuid: str, user_id: int | None) -> None:
    """Of this user, if one is given."""
    from persistence.accounts.sign_ins import end_sign_in, find_owner

    owner_id = find_owner(tx, uuid.lower()) if is_uuid(uuid) else None
    if owner_id is None or user_id not in (None, owner_id):
        raise CommandFailed(f"there is no session {uuid}" if user_id is None else f"this user has no session {uuid}")
    end_sign_in(tx, owner_id, uuid.lower())
