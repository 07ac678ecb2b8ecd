"""What people do to their own second factor: set it up, confirm it, switch it off, make recovery codes anew."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import select, update

from persistence.accounts.accounts import Account, read_account, store_account
from persistence.accounts.codes import takes_code
from persistence.accounts.limits import CODE, PASSWORD, count_attempt, forgive_attempts
from persistence.accounts.signing_in import Door, TooManyAttempts
from persistence.accounts.two_factor import (
    accepted_step,
    hash_recovery_code,
    make_recovery_codes,
    make_totp_secret,
    totp_uri,
)
from persistence.database import Transaction
from persistence.errors import InvalidInput, Refused
from persistence.tables.sign_ins import account

ISSUER = "Relayboard"
WRONG_PASSWORD = "This is not your password."
WRONG_CODE = "This code is not right, or it was used before."

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Setup:
    """What an authenticator app needs: the secret in base 32, and the address of the QR code."""

    secret: str
    uri: str


def prove_password(door: Door, user_id: int, password: str, field: str = "password") -> Account:
    """The account of a signed-in user who knows the password. Raises InvalidInput, TooManyAttempts. A user who has no
    password yet proves nothing."""
    with door.database.reading() as tx:
        found = read_account(tx, user_id)
    if found.password_hash is None:
        return found
    _count(door, found, PASSWORD)
    if not door.passwords.fits(found.password_hash, password):
        raise InvalidInput.on(field, WRONG_PASSWORD)
    door.write(lambda tx: forgive_attempts(tx, door.settings, door.visitor(found.email)))
    return found


def set_up(door: Door, user_id: int, password: str) -> Setup:
    """A new secret, which counts once it is confirmed. Raises InvalidInput, Refused, TooManyAttempts."""
    found = prove_password(door, user_id, password)
    if found.has_two_factor:
        raise Refused("Two-factor authentication is on already: switch it off first.")
    secret = make_totp_secret()
    door.write(lambda tx: store_account(tx, user_id, totp_secret=secret, totp_step=None))
    return Setup(secret, totp_uri(secret, found.email, ISSUER))


def confirm(door: Door, user_id: int, code: str) -> list[str]:
    """Switches it on with a code of the app; returns the recovery codes, which cannot be read again. Raises
    InvalidInput, Refused, TooManyAttempts."""

    def work(tx: Transaction) -> list[str]:
        columns = (account.c.totp_secret, account.c.totp_confirmed_on)
        row = tx.execute(select(*columns).where(account.c.user_id == user_id).with_for_update()).first()
        if row is None or row.totp_secret is None or row.totp_confirmed_on is not None:
            raise Refused("There is nothing to confirm: set two-factor authentication up first.")
        step = accepted_step(row.totp_secret, code.replace(" ", ""), tx.now, None)
        if step is None:
            raise InvalidInput.on("code", WRONG_CODE)
        mine = update(account).where(account.c.user_id == user_id)
        tx.execute(mine.values(totp_confirmed_on=tx.now, totp_step=step))
        return _new_codes(tx, door, user_id)

    return _attempt(door, user_id, work)


def switch_off(door: Door, user_id: int, password: str, code: str) -> None:
    """Raises InvalidInput without the password and a code, Refused, TooManyAttempts."""
    prove_password(door, user_id, password)

    def work(tx: Transaction) -> None:
        _check_code(tx, door, user_id, code)
        clear_two_factor(tx, user_id)

    _attempt(door, user_id, work)


def renew_codes(door: Door, user_id: int, code: str) -> list[str]:
    """New recovery codes; the former ones end. Raises InvalidInput, Refused, TooManyAttempts."""

    def work(tx: Transaction) -> list[str]:
        _check_code(tx, door, user_id, code)
        return _new_codes(tx, door, user_id)

    return _attempt(door, user_id, work)


def clear_two_factor(tx: Transaction, user_id: int) -> None:
    """The account asks for no code any more."""
    store_account(tx, user_id, totp_secret=None, totp_confirmed_on=None, totp_step=None, recovery_hashes=None)


def _check_code(tx: Transaction, door: Door, user_id: int, code: str) -> None:
    if not read_account(tx, user_id).has_two_factor:
        raise Refused("Two-factor authentication is off.")
    if not takes_code(tx, user_id, code, door.secret_keys):
        raise InvalidInput.on("code", WRONG_CODE)


def _new_codes(tx: Transaction, door: Door, user_id: int) -> list[str]:
    codes = make_recovery_codes()
    hashes = [hash_recovery_code(each, door.settings.secret_key) for each in codes]
    store_account(tx, user_id, recovery_hashes=hashes)
    return codes


def _attempt(door: Door, user_id: int, work: Callable[[Transaction], Result]) -> Result:
    """Runs what compares a code: each counts, wherever it is tried, and only a right one is forgiven."""
    with door.database.reading() as tx:
        found = read_account(tx, user_id)
    _count(door, found, CODE)

    def finish(tx: Transaction) -> Result:
        result = work(tx)
        forgive_attempts(tx, door.settings, door.visitor(found.email), CODE)
        return result

    return door.write(finish)


def _count(door: Door, found: Account, kind: str) -> None:
    attempts = door.write(lambda tx: count_attempt(tx, door.settings, door.visitor(found.email), kind))
    if not attempts.is_granted:
        raise TooManyAttempts(attempts)
