"""The second factor of accounts: the secret of the authenticator app and the recovery codes, as they are stored."""

from collections.abc import Sequence

from sqlalchemy import select, update

from persistence.accounts.two_factor import accepted_step, without_code
from persistence.database import Transaction
from persistence.tables.sign_ins import account


def takes_code(tx: Transaction, user_id: int, code: str | None, secret_keys: Sequence[str]) -> bool:
    """Whether a code, of the app or a recovery code, is accepted; each is accepted once. True without two-factor
    authentication, whatever the code."""
    mine = account.c.user_id == user_id
    columns = (account.c.totp_secret, account.c.totp_confirmed_on, account.c.totp_step, account.c.recovery_hashes)
    row = tx.execute(select(*columns).where(mine).with_for_update()).first()
    if row is None or row.totp_confirmed_on is None:
        return True
    given = "" if code is None else code.strip()
    step = accepted_step(row.totp_secret, given.replace(" ", ""), tx.now, row.totp_step)
    if step is not None:
        tx.execute(update(account).where(mine).values(totp_step=step))
        return True
    left = without_code(row.recovery_hashes or (), given, secret_keys)
    if left is not None:
        tx.execute(update(account).where(mine).values(recovery_hashes=left))
    return left is not None
