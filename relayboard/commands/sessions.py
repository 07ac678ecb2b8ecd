"""`relayboard session ...`, and the account of a person."""

import click

from persistence.accounts.accounts import Account, find_account
from persistence.accounts.sign_ins import end_other_sign_ins, end_sign_in, read_sign_ins
from persistence.database import Transaction
from persistence.sql.columns import is_uuid
from relayboard.commands.output import CommandFailed, opened_database, print_json, print_records
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with opened_database() as database, database.reading() as tx:
        records = read_sign_ins(tx, account_named(tx, options.email).user_id)
    print_records(records)


def run_end(options: Options) -> None:
    with opened_database() as database, database.writing() as tx:
        user_id = account_named(tx, options.email).user_id
        if options.session is None:
            ended = end_other_sign_ins(tx, user_id)
        elif not is_uuid(options.session):
            raise CommandFailed(f"there is no session {options.session}")
        else:
            end_sign_in(tx, user_id, options.session)
            ended = 1
    print_json({"ended": ended})


def tell_of_ended(email: str) -> None:
    """What the operator must know of an unproven account that ended."""
    said = f"Nobody had proved {email}: the password, second factor, sessions and tokens of an invitation have ended."
    click.echo(said, err=True)


def account_named(tx: Transaction, email: str) -> Account:
    found = find_account(tx, email)
    if found is None:
        raise CommandFailed(f"there is no user {email}")
    return found
