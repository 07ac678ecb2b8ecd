"""`relayboard session ...`, and the account of a person."""

import click

from persistence.accounts.accounts import Account, find_account
from persistence.accounts.sign_ins import end_other_sign_ins, end_sign_in, find_owner, read_sign_ins
from persistence.database import Transaction
from persistence.sql.columns import is_uuid
from relayboard.commands.output import CommandFailed, opened_database, print_json, print_records
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with opened_database() as database, database.reading() as tx:
        records = read_sign_ins(tx, account_named(tx, options.email).user_id)
    print_records(records)


def run_end(options: Options) -> None:
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


def _end_one(tx: Transaction, uuid: str, user_id: int | None) -> None:
    """Of this user, if one is given."""
    owner_id = find_owner(tx, uuid.lower()) if is_uuid(uuid) else None
    if owner_id is None or user_id not in (None, owner_id):
        raise CommandFailed(f"there is no session {uuid}" if user_id is None else f"this user has no session {uuid}")
    end_sign_in(tx, owner_id, uuid.lower())


def tell_of_ended(email: str) -> None:
    """What the operator must know of an unproven account that ended."""
    said = f"Nobody had proved {email}: the password, second factor, sessions and tokens of an invitation have ended."
    click.echo(said, err=True)


def account_named(tx: Transaction, email: str) -> Account:
    found = find_account(tx, email)
    if found is None:
        raise CommandFailed(f"there is no user {email}")
    return found
