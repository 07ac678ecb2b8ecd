"""Signing in: with a password and a code if the account asks for one, or by a mailed link that works once and for a
short time.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import pyotp
from sqlalchemy import delete, select

from flows.typed import plain
from persistence.accounts.accounts import (
    CODE,
    LINK_AGE,
    MAIL,
    PASSWORD,
    Account,
    Attempts,
    Visitor,
    count_attempt,
    end_unproven,
    find_account,
    forgive_attempts,
    list_memberships,
    read_account,
    remember_browser,
    renew_password_hash,
    store_account,
)
from persistence.accounts.invitations import REMINDER, SIGN_IN, Letter, post
from persistence.accounts.passwords import Passwords
from persistence.accounts.reminders import write_reminder
from persistence.accounts.sign_ins import (
    BY_LINK,
    BY_PASSWORD,
    Browser,
    create_sign_in,
    end_by_key,
    fits,
    make_secret,
    public_of,
)
from persistence.audit import BY_SESSION, Actor, Witness
from persistence.database import Database, Transaction
from persistence.errors import InvalidInput, NotAllowed, Refused
from persistence.statements import update
from persistence.tables.accounts import account, sign_in, sign_in_link
from persistence.tokens import keyed_hash
from relayboard.base.settings import Settings

REFUSED = "The e-mail address, the password or the code is not right."

Result = TypeVar("Result")

PREFIX = "rbl_"
PAGE = "/#/sign-in/"
LINK_REFUSED = "This link was used before or is too old, or the code is not right."
NO_MAIL = "This service cannot send mail: sign in with your password, or ask an administrator for a new one."
LINKS_PER_USER = 5

FRESH = timedelta(minutes=15)

STEP_SECONDS = 30
STEPS_BESIDE = 1
RECOVERY_CODES, RECOVERY_HALF = 10, 5
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without letters and digits that look alike."""

ISSUER = "Relayboard"
WRONG_PASSWORD = "This is not your password."
WRONG_CODE = "This code is not right, or it was used before."


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


@dataclass(frozen=True, slots=True)
class Link:
    """A link for a letter: who gets it, at the address of the account, not the one that was typed, and its URL."""

    name: str
    email: str
    url: str


def ask_for_link(door: Door, email: str, root: str) -> Attempts:
    """Has a link mailed to the account with this address. Nothing here looks whether there is one, so neither answer
    nor time tells. Raises Refused without a mail server, TooManyAttempts."""
    if door.settings.smtp_url is None:
        raise Refused(NO_MAIL)

    def work(tx: Transaction) -> Attempts:
        attempts = count_attempt(tx, door.settings, door.visitor(email), MAIL)
        if not attempts.is_granted:
            raise TooManyAttempts(attempts)
        post(tx, SIGN_IN, email, {"root": root}, LINK_AGE)
        return attempts

    return door.database.write(work)


def make_link(tx: Transaction, email: str, root: str, secret_key: str) -> Link | None:
    """A new link for a user; None for an address without an account or workspace."""
    found = find_account(tx, email)
    if found is None or not list_memberships(tx, found.user_id):
        return None
    rows = sign_in_link.c
    kept = select(rows.id).where(rows.user_id == found.user_id).order_by(rows.id.desc()).limit(LINKS_PER_USER - 1)
    others = rows.id.not_in(tx.execute(kept).scalars().all())
    tx.execute(delete(sign_in_link).where(rows.user_id == found.user_id, others))
    secret = make_secret(PREFIX, secret_key)
    values = {"user_id": found.user_id, "public": secret.public, "hash": secret.hash}
    tx.insert(sign_in_link, created_on=tx.now, **values)
    return Link(found.first_name, found.email, f"{root}{PAGE}{secret.text}")


def sign_in_by_link(door: Door, text: str, code: str | None) -> SignedIn:
    """Signs in; the link works no more. It proves the mailbox: what somebody else may have set before ends. Raises
    NotAllowed, TooManyAttempts."""
    with door.database.reading() as tx:
        user_id = _find_user(tx, text, door.secret_keys)
        owner = None if user_id is None else read_account(tx, user_id)
    if owner is None:
        raise NotAllowed(LINK_REFUSED)
    email = owner.email
    attempts = door.database.write(lambda tx: count_attempt(tx, door.settings, door.visitor(email)))
    if not attempts.is_granted:
        raise TooManyAttempts(attempts)
    if not owner.is_unproven:
        count_code(door, owner, code)

    def work(tx: Transaction) -> SignedIn:
        found = find_account(tx, email)
        is_used = tx.execute(delete(sign_in_link).where(sign_in_link.c.public == public_of(PREFIX, text))).rowcount
        if found is None or not is_used:
            raise NotAllowed(LINK_REFUSED)
        if found.is_unproven:
            tx.witness = Witness(Actor(BY_SESSION, email=found.email, address=door.browser.address))
            end_unproven(tx, found.user_id)
            found = read_account(tx, found.user_id)
        return enter(tx, door, found, BY_LINK, code, attempts, LINK_REFUSED)

    return door.database.write(work)


def came_by_link(tx: Transaction, sign_in_id: int | None) -> bool:
    """Whether somebody signed in by a mailed link just now, who may set a password without knowing the old one."""
    fresh = (sign_in.c.method == BY_LINK) & (sign_in.c.created_on > tx.now - FRESH)
    return tx.execute(select(sign_in.c.id).where(sign_in.c.id == sign_in_id, fresh)).first() is not None


@dataclass(frozen=True, slots=True)
class Writing:
    """An e-mail."""

    recipient: str
    subject: str
    text: str


def write_letter(tx: Transaction, letter: Letter, secret_key: str) -> Writing | None:
    """The text of a letter; a link to sign in is made only now, so that it is stored nowhere. None if nobody with this
    address has an account."""
    if letter.kind == REMINDER:
        return Writing(letter.recipient, *write_reminder(letter.content))
    if letter.kind != SIGN_IN:
        return _invite(letter.recipient, letter.content["workspace"], letter.content["link"])
    link = make_link(tx, letter.recipient, letter.content["root"], secret_key)
    if link is None:
        return None
    return Writing(
        link.email,
        "Sign in to Relayboard",
        f"Hello {link.name}".rstrip() + ",\n\n"
        "somebody asked for a link to sign in with your e-mail address. Open it within 15 minutes; it works once:\n\n"
        f"{link.url}\n\n"
        "If it was not you, you need not do anything.\n",
    )


def make_totp_secret() -> str:
    """160 random bits in base 32, as RFC 4226 advises."""
    return pyotp.random_base32(32)


def totp_uri(secret: str, email: str, issuer: str) -> str:
    """The `otpauth://` address that authenticator apps read from a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=issuer)


def accepted_step(secret: str, code: str, now: datetime, last_step: int | None) -> int | None:
    """The time step whose code this is: the present one or a neighbor, and later than the last accepted one, because a
    code is accepted once. None for a wrong code."""
    totp = pyotp.TOTP(secret)
    present = int(now.timestamp()) // STEP_SECONDS
    for step in range(max(0, present - STEPS_BESIDE), present + STEPS_BESIDE + 1):
        is_new = last_step is None or step > last_step
        if pyotp.utils.strings_equal(totp.generate_otp(step), code) and is_new:
            return step
    return None


def make_recovery_codes() -> list[str]:
    """Codes like `k7wqm-3xd9p` (50 bits each)."""
    return [f"{_letters(RECOVERY_HALF)}-{_letters(RECOVERY_HALF)}" for _ in range(RECOVERY_CODES)]


def hash_recovery_code(code: str, secret_key: str) -> str:
    typed = _typed(code)
    return keyed_hash(f"{typed[:RECOVERY_HALF]}-{typed[RECOVERY_HALF:]}", secret_key)


def _typed(code: str) -> str:
    """A code as people type it: in groups or not, in any case, with what keyboards and copying add."""
    return "".join(each for each in plain(code).lower() if each.isalnum())


def without_code(hashes: Sequence[str], code: str, secret_keys: Sequence[str]) -> list[str] | None:
    """The hashes that are left when a recovery code is used; None if it is not one of them."""
    used = {hash_recovery_code(code, each) for each in secret_keys}
    left = [each for each in hashes if each not in used]
    return left if len(left) < len(hashes) else None


def takes_code(tx: Transaction, user_id: int, code: str | None, secret_keys: Sequence[str]) -> bool:
    """Whether a code, of the app or a recovery code, is accepted; each is accepted once. True without two-factor
    authentication, whatever the code."""
    mine = account.c.user_id == user_id
    columns = (account.c.totp_secret, account.c.totp_confirmed_on, account.c.totp_step, account.c.recovery_hashes)
    row = tx.execute(select(*columns).where(mine).with_for_update()).first()
    if row is None or row.totp_confirmed_on is None:
        return True
    given = code or ""
    step = accepted_step(row.totp_secret, _typed(given), tx.now, row.totp_step)
    if step is not None:
        tx.execute(update(account).where(mine).values(totp_step=step))
        return True
    left = without_code(row.recovery_hashes or (), given, secret_keys)
    if left is not None:
        tx.execute(update(account).where(mine).values(recovery_hashes=left))
    return left is not None


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
        step = accepted_step(row.totp_secret, _typed(code), tx.now, None)
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


def _begin(tx: Transaction, door: Door, email: str) -> tuple[Attempts, Account | None]:
    attempts = count_attempt(tx, door.settings, door.visitor(email))
    return attempts, find_account(tx, email) if attempts.is_granted else None


def _find_user(tx: Transaction, text: str, secret_keys: Sequence[str]) -> int | None:
    rows = sign_in_link.c
    is_young = rows.created_on > tx.now - LINK_AGE
    row = tx.execute(select(rows.user_id, rows.hash).where(rows.public == public_of(PREFIX, text), is_young)).first()
    return row.user_id if row is not None and fits(row.hash, text, secret_keys) else None


def _invite(recipient: str, workspace: str, link: str) -> Writing:
    name = " ".join(workspace.split())
    return Writing(
        recipient,
        f"Invitation to {name}",
        f"You are invited to work in {name}. Open this link within seven days to choose a password:\n\n{link}\n\n"
        "If you do not know why you got this, you need not do anything.\n",
    )


def _letters(count: int) -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(count))


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
