"""Signing in with a password, and a code if the account asks for one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from persistence.accounts.accounts import Account, find_account, list_memberships, read_account, renew_password_hash
from persistence.accounts.codes import takes_code
from persistence.accounts.limits import CODE, Attempts, Visitor, count_attempt, forgive_attempts, remember_browser
from persistence.accounts.passwords import Passwords
from persistence.accounts.sign_ins import BY_PASSWORD, Browser, create_sign_in, end_by_key
from persistence.audit.witness import BY_SESSION, Actor, Witness
from persistence.database import Database, Transaction
from persistence.errors import NotAllowed
from relayboard.base.settings import Settings

REFUSED = "The e-mail address, the password or the code is not right."


Result = TypeVar("Result")


class CodeMissing(NotAllowed):
    """All that is missing is the code of the second factor: who asks has proved the rest, and is asked for it."""

    def __init__(self) -> None:
        super().__init__("Enter the code of your authenticator app, or a recovery code.")


class SignInFailed(NotAllowed):
    """Somebody who named this account could not prove to be its person."""

    def __init__(self, message: str, email: str) -> None:
        super().__init__(message)
        self.email = email


class TooManyAttempts(Exception):
    """The account or the IP address has used its attempts to sign in; `attempts` says until when."""

    def __init__(self, attempts: Attempts) -> None:
        super().__init__(attempts)
        self.attempts = attempts


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new sign-in: its id, its user, the secret for the browser, and by what the browser is known from now on."""

    sign_in_id: int
    user_id: int
    key: str
    attempts: Attempts
    known: str


@dataclass(frozen=True, slots=True)
class Door:
    """What signing in needs besides the database. `former_key` is the secret of the browser's present cookie, whose
    sign-in ends; `actor` is who is signed in already."""

    database: Database
    settings: Settings
    passwords: Passwords
    browser: Browser
    former_key: str | None = None
    actor: Actor | None = None

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Runs `work` in a unit of work that tells the audit log who it was."""

        def told(tx: Transaction) -> Result:
            tx.witness = None if self.actor is None else Witness(self.actor)
            return work(tx)

        return self.database.write(told)

    def visitor(self, email: str) -> Visitor:
        """Somebody who tries to sign in to the account with this e-mail address, for counting."""
        return Visitor(email, self.browser.address, self.browser.known)

    @property
    def secret_keys(self) -> tuple[str, ...]:
        return (self.settings.secret_key, *self.settings.secret_key_fallbacks)


def sign_in_by_password(door: Door, email: str, password: str, code: str | None) -> SignedIn:
    """Sign in. Raises NotAllowed, which does not say what was wrong, CodeMissing and TooManyAttempts. The hash is
    computed for addresses without an account too, outside of transactions, so that the time says nothing either.
    """
    attempts, found = door.database.write(lambda tx: _begin(tx, door, email))
    if not attempts.is_granted:
        raise TooManyAttempts(attempts)
    is_right = door.passwords.fits(found.password_hash if found is not None else None, password)
    if found is None or found.password_hash is None or not is_right:
        raise SignInFailed(REFUSED, email)
    stored = found.password_hash
    count_code(door, found, code)
    renewed = door.passwords.hash(password) if door.passwords.is_outdated(stored) else None

    def finish(tx: Transaction) -> SignedIn:
        if read_account(tx, found.user_id).password_hash != stored:
            raise NotAllowed(REFUSED)
        if renewed is not None:
            renew_password_hash(tx, found.user_id, stored, renewed)
        return enter(tx, door, found, BY_PASSWORD, code, attempts)

    return door.database.write(finish)


def _begin(tx: Transaction, door: Door, email: str) -> tuple[Attempts, Account | None]:
    attempts = count_attempt(tx, door.settings, door.visitor(email))
    return attempts, find_account(tx, email) if attempts.is_granted else None


def count_code(door: Door, found: Account, code: str | None) -> None:
    """Counts an attempt with a code, before it is compared, if the account asks for one. Raises CodeMissing,
    TooManyAttempts."""
    if not found.has_two_factor:
        return
    if not (code or "").strip():
        raise CodeMissing
    attempts = door.database.write(lambda tx: count_attempt(tx, door.settings, door.visitor(found.email), CODE))
    if not attempts.is_granted:
        raise TooManyAttempts(attempts)


def enter(
    tx: Transaction,
    door: Door,
    found: Account,
    method: str,
    code: str | None,
    attempts: Attempts,
    refused: str = REFUSED,
) -> SignedIn:
    """Creates the sign-in of somebody who has proved to be this user. Raises NotAllowed without the code that the
    account asks for, and for users without a workspace."""
    tx.witness = Witness(Actor(BY_SESSION, email=found.email, address=door.browser.address))
    is_member = bool(list_memberships(tx, found.user_id))
    if not is_member or not takes_code(tx, found.user_id, code, door.secret_keys):
        raise SignInFailed(refused, found.email)
    visitor = door.visitor(found.email)
    forgive_attempts(tx, door.settings, visitor)
    if found.has_two_factor:
        forgive_attempts(tx, door.settings, visitor, CODE)
    if door.former_key is not None:
        end_by_key(tx, door.former_key, door.secret_keys)
    sign_in_id, key = create_sign_in(tx, found.user_id, method, door.browser, door.settings.secret_key)
    return SignedIn(sign_in_id, found.user_id, key, attempts, remember_browser(door.settings, visitor))
