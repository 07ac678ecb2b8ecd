"""The account of a person: names, password, two-factor authentication, and the workspaces."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select, update

from persistence.accounts.addresses import email_key
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace
from persistence.tables.accounts import PERSON_NAME_LENGTH, membership, user, workspace
from persistence.tables.sign_ins import account


@dataclass(frozen=True, slots=True)
class Account:
    """How an active user signs in."""

    user_id: int
    uuid: str
    email: str
    first_name: str
    last_name: str
    password_hash: str | None
    has_two_factor: bool
    recovery_codes_left: int
    is_unproven: bool


@dataclass(frozen=True, slots=True)
class Member:
    """A workspace of a user, and the role in it."""

    workspace_id: int
    uuid: str
    name: str
    role: str


_COLUMNS = (
    user.c.id,
    user.c.uuid,
    user.c.email,
    user.c.first_name,
    user.c.last_name,
    account.c.password_hash,
    account.c.totp_confirmed_on,
    account.c.recovery_hashes,
    account.c.unproven_since,
)


def find_account(tx: Transaction, email: str) -> Account | None:
    """The account with this e-mail address, in any case and form of Unicode."""
    statement = select(*_COLUMNS).outerjoin(account, account.c.user_id == user.c.id)
    row = tx.execute(statement.where(user.c.email_key == email_key(email), user.c.is_active)).first()
    return None if row is None else _from_row(row)


def read_account(tx: Transaction, user_id: int) -> Account:
    statement = select(*_COLUMNS).outerjoin(account, account.c.user_id == user.c.id)
    return _from_row(tx.execute(statement.where(user.c.id == user_id)).one())


def _from_row(row: Sequence[Any]) -> Account:
    user_id, uuid, email, first_name, last_name, password_hash, confirmed_on, hashes, unproven_since = row
    has_two_factor, codes_left = confirmed_on is not None, len(hashes or ())
    is_unproven = unproven_since is not None
    names = (email, first_name, last_name)
    return Account(user_id, uuid, *names, password_hash, has_two_factor, codes_left, is_unproven)


def list_memberships(tx: Transaction, user_id: int) -> list[Member]:
    """The workspaces of a user, in the order in which they were joined."""
    statement = (
        select(workspace.c.id, workspace.c.uuid, workspace.c.name, membership.c.role)
        .join(membership, membership.c.workspace_id == workspace.c.id)
        .where(membership.c.user_id == user_id)
        .order_by(membership.c.created_on, workspace.c.id)
    )
    return [Member(*row) for row in tx.execute(statement)]


def set_password(tx: Transaction, user_id: int, password_hash: str, *, is_proven: bool = True) -> None:
    """Gives a user another password. `is_proven`: who chose it has the mailbox, or an operator did."""
    unproven_since = None if is_proven else tx.now
    values = {"password_changed_on": tx.now, "unproven_since": unproven_since}
    store_account(tx, user_id, password_hash=password_hash, **values)


def change_password(tx: Transaction, user_id: int, former: str | None, present: str) -> None:
    """The same for a user who is signed in, if nobody changed the password since the former hash was read; otherwise
    raises LostRace."""
    found = read_account(tx, user_id)
    if found.password_hash != former:
        raise LostRace
    set_password(tx, user_id, present, is_proven=not found.is_unproven)


def renew_password_hash(tx: Transaction, user_id: int, former: str, present: str) -> None:
    """Replaces the hash of the same password, unless the password was changed meanwhile."""
    mine = (account.c.user_id == user_id) & (account.c.password_hash == former)
    tx.execute(update(account).where(mine).values(password_hash=present))


def choose_workspace(tx: Transaction, user_id: int, uuid: str) -> None:
    """Makes one of the user's workspaces the one that requests mean. Raises InvalidInput for any other."""
    chosen = next((each for each in list_memberships(tx, user_id) if each.uuid == uuid.lower()), None)
    if chosen is None:
        raise InvalidInput.on("workspace", "This is not one of your workspaces.")
    store_account(tx, user_id, chosen_id=chosen.workspace_id)


def change_names(tx: Transaction, user_id: int, names: dict[str, str]) -> None:
    """Changes `first_name` and `last_name`, those of them that are given. Raises InvalidInput."""
    for field, name in names.items():
        if len(name) > PERSON_NAME_LENGTH or "\x00" in name:
            raise InvalidInput.on(field, f"At most {PERSON_NAME_LENGTH} characters.")
    if names:
        tx.execute(update(user).where(user.c.id == user_id).values(**names))


def store_account(tx: Transaction, user_id: int, **values: str | int | datetime | list[str] | None) -> None:
    """Sets columns of a user's account, which is created if it is missing."""
    statement = tx.upsert(account).values(user_id=user_id, **values)
    tx.execute(statement.on_conflict_do_update(index_elements=["user_id"], set_=values))
