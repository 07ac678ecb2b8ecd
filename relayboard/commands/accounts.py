"""`relayboard user password`."""

import sys

import click

from persistence.accounts.accounts import end_unproven, forgive_account, set_password
from persistence.accounts.passwords import Passwords, check_password
from persistence.accounts.sign_ins import end_other_sign_ins
from persistence.accounts.signing_in import clear_two_factor
from relayboard.commands.output import opened_database, print_json
from relayboard.commands.secret_input import STANDARD_INPUT, read_secret
from relayboard.commands.sessions import account_named, tell_of_ended
from relayboard.usage.parts import Options


def run_password(options: Options) -> None:
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


def _read_password() -> str:
    """A password that is typed twice on a terminal, or the line of standard input."""
    if not sys.stdin.isatty():
        return read_secret(STANDARD_INPUT)
    text: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return text
