"""Signing in by a mailed link, which works once and for a short time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select

from persistence.accounts.accounts import find_account, list_memberships, read_account
from persistence.accounts.ages import LINK_AGE
from persistence.accounts.limits import MAIL, Attempts, count_attempt
from persistence.accounts.mail import SIGN_IN, post
from persistence.accounts.secret_keys import fits, make_secret, public_of
from persistence.accounts.sign_ins import BY_LINK
from persistence.accounts.signing_in import Door, SignedIn, TooManyAttempts, count_code, enter
from persistence.accounts.unproven import end_unproven
from persistence.audit.witness import BY_SESSION, Actor, Witness
from persistence.database import Transaction
from persistence.errors import NotAllowed, Refused
from persistence.tables.sign_ins import sign_in, sign_in_link

PREFIX = "rbl_"
PAGE = "/#/sign-in/"
LINK_REFUSED = "This link was used before or is too old, or the code is not right."
NO_MAIL = "This service cannot send mail: sign in with your password, or ask an administrator for a new one."
LINKS_PER_USER = 5


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


def _find_user(tx: Transaction, text: str, secret_keys: Sequence[str]) -> int | None:
    rows = sign_in_link.c
    is_young = rows.created_on > tx.now - LINK_AGE
    row = tx.execute(select(rows.user_id, rows.hash).where(rows.public == public_of(PREFIX, text), is_young)).first()
    return row.user_id if row is not None and fits(row.hash, text, secret_keys) else None


FRESH = timedelta(minutes=15)


def came_by_link(tx: Transaction, sign_in_id: int | None) -> bool:
    """Whether somebody signed in by a mailed link just now, who may set a password without knowing the old one."""
    fresh = (sign_in.c.method == BY_LINK) & (sign_in.c.created_on > tx.now - FRESH)
    return tx.execute(select(sign_in.c.id).where(sign_in.c.id == sign_in_id, fresh)).first() is not None
