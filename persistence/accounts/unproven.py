"""Accounts that nobody has proved to be theirs: an invitation, whose link the inviter saw too, set the password. Such
an account gives no rights beyond the workspace that invited: what was set by it ends when somebody else adds the
address, or when its mailbox is proved."""

from dataclasses import dataclass

from sqlalchemy import delete, func, select, update

from persistence.database import Transaction
from persistence.tables.accounts import token, user
from persistence.tables.sign_ins import account, sign_in, sign_in_link


@dataclass(frozen=True, slots=True)
class Ended:
    """What an unproven account had, and has no more, beside its password."""

    two_factor: bool
    sessions: int
    tokens: int


def hold_user(tx: Transaction, user_id: int) -> None:
    """Lets the units of work that add one user to workspaces, or set the user's password, run one after the other."""
    tx.execute(select(user.c.id).where(user.c.id == user_id).with_for_update())


def is_unproven(tx: Transaction, user_id: int) -> bool:
    mine = (account.c.user_id == user_id) & account.c.unproven_since.is_not(None)
    return tx.execute(select(account.c.id).where(mine)).first() is not None


def end_unproven(tx: Transaction, user_id: int) -> Ended | None:
    """Takes from an unproven account what was set by whoever opened the invitation: password, second factor, sessions
    and tokens. None for any other account, which nothing happens to."""
    hold_user(tx, user_id)
    if not is_unproven(tx, user_id):
        return None
    mine = account.c.user_id == user_id
    confirmed_on = tx.execute(select(account.c.totp_confirmed_on).where(mine)).scalar_one()
    names = ("password_hash", "password_changed_on", "unproven_since", "totp_secret", "totp_confirmed_on", "totp_step")
    tx.execute(update(account).where(mine).values(**dict.fromkeys((*names, "recovery_hashes"))))
    tx.execute(delete(sign_in_link).where(sign_in_link.c.user_id == user_id))
    sessions = tx.execute(delete(sign_in).where(sign_in.c.user_id == user_id)).rowcount
    living = (token.c.user_id == user_id) & token.c.revoked_on.is_(None)
    tokens = tx.execute(select(func.count()).select_from(token).where(living)).scalar_one()
    tx.execute(update(token).where(living).values(revoked_on=tx.now))
    return Ended(confirmed_on is not None, sessions, tokens)
