"""`relayboard user invite|password`, `relayboard invitation|session|audit ...`."""

import sys
from typing import Any

import click

from persistence.accounts.accounts import Account, find_account, set_password
from persistence.accounts.invitations import INVITATIONS, invite, withdraw_invitation
from persistence.accounts.passwords import Passwords, check_password
from persistence.accounts.sign_ins import end_other_sign_ins, end_sign_in, read_sign_ins
from persistence.accounts.two_factor_actions import clear_two_factor
from persistence.audit.events import AUDIT_EVENTS
from persistence.database import Transaction
from persistence.lists import ListQuery, fetch_list, read_list
from persistence.sql.columns import is_uuid
from relayboard.base.settings import load_settings
from relayboard.commands.output import (
    CommandFailed,
    opened_database,
    print_json,
    print_records,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.secret_input import STANDARD_INPUT, read_secret
from relayboard.usage.parts import Options

FILTERS = {"resource": "resource", "action": "done", "user": "user", "after": "after", "before": "before"}
"""The parameter of the list for each option."""


def run_invite(options: Options) -> None:
    settings = load_settings()
    root = (options.url or settings.base_url).rstrip("/")
    if not root.startswith(("http://", "https://")):
        raise CommandFailed("the link needs the URL of the service: give --url, or set RELAYBOARD_BASE_URL")
    with opened_database(settings) as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        made = invite(tx, workspace, options.email, options.role, root, settings)
    print_json({"email": options.email, "role": options.role, "link": made.link, "mailed": made.is_mailed})


def run_list_invitations(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), INVITATIONS)
    print_records(records)


def run_withdraw(options: Options) -> None:
    if not is_uuid(options.uuid):
        raise CommandFailed(f"there is no invitation {options.uuid}")
    with writing_in(options) as (tx, workspace):
        withdraw_invitation(tx, workspace.id, options.uuid)
    print_json({"withdrawn": options.uuid})


def run_password(options: Options) -> None:
    with opened_database() as database:
        with database.reading() as tx:
            found = _account(tx, options.email)
        password = _read_password()
        check_password(password, found.email)
        stored = Passwords().hash(password)
        with database.writing() as tx:
            set_password(tx, found.user_id, stored)
            if options.drop_two_factor:
                clear_two_factor(tx, found.user_id)
            ended = end_other_sign_ins(tx, found.user_id)
    print_json({"changed": found.email, "sessions_ended": ended})


def _read_password() -> str:
    """A password that is typed twice on a terminal, or the line of standard input."""
    if not sys.stdin.isatty():
        return read_secret(STANDARD_INPUT)
    text: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return text


def run_list_sessions(options: Options) -> None:
    with opened_database() as database, database.reading() as tx:
        records = read_sign_ins(tx, _account(tx, options.email).user_id)
    print_records(records)


def run_end_sessions(options: Options) -> None:
    with opened_database() as database, database.writing() as tx:
        user_id = _account(tx, options.email).user_id
        if options.session is None:
            ended = end_other_sign_ins(tx, user_id)
        elif not is_uuid(options.session):
            raise CommandFailed(f"there is no session {options.session}")
        else:
            end_sign_in(tx, user_id, options.session)
            ended = 1
    print_json({"ended": ended})


def run_list_audit(options: Options) -> None:
    values: dict[str, Any] = {
        name: getattr(options, given) for name, given in FILTERS.items() if getattr(options, given)
    }
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace, values), AUDIT_EVENTS, None, options.limit)
    print_records(page.records)


def _account(tx: Transaction, email: str) -> Account:
    found = find_account(tx, email)
    if found is None:
        raise CommandFailed(f"there is no user {email}")
    return found
