"""How often somebody may try to sign in: per account and per IP address, over all nodes."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, update

from persistence.database import Transaction
from persistence.limits.rate_limits import take_window
from persistence.tables.sign_ins import ADDRESS_LENGTH, sign_in_window
from relayboard.base.settings import RateLimit, Settings


@dataclass(frozen=True, slots=True)
class Attempts:
    """What is left of a limit, and when it is whole again. Without `is_granted` the attempt is refused unseen."""

    limit: int
    remaining: int
    ends_on: datetime
    is_granted: bool


def count_attempt(tx: Transaction, settings: Settings, email: str, address: str) -> Attempts:
    """Counts one attempt for the account with this e-mail address, existing or not, and for the IP address."""
    of_account = _take(tx, _account(email), settings.sign_in_limit)
    of_address = _take(tx, _address(address), settings.address_sign_in_limit)
    refusing = [each for each in (of_account, of_address) if not each.is_granted]
    return max(refusing, key=lambda each: each.ends_on) if refusing else of_account


def count_mail(tx: Transaction, settings: Settings, email: str, address: str) -> Attempts:
    """Counts a request for a link by mail, apart from attempts with a password."""
    of_account = _take(tx, f"mail:{email.lower()}", settings.sign_in_limit)
    of_address = _take(tx, _address(address), settings.address_sign_in_limit)
    return of_address if of_account.is_granted and not of_address.is_granted else of_account


def forgive_attempts(tx: Transaction, email: str, address: str) -> None:
    """After a success the account has its whole limit again, and the IP address this one attempt."""
    rows = sign_in_window.c
    tx.execute(delete(sign_in_window).where(rows.subject == _account(email)))
    one_less = update(sign_in_window).where(rows.subject == _address(address), rows.taken > 0)
    tx.execute(one_less.values(taken=rows.taken - 1))


def _take(tx: Transaction, subject: str, limit: RateLimit) -> Attempts:
    granted, left, ends_on = take_window(tx, sign_in_window, {"subject": subject}, limit.requests, limit.period, 1)
    return Attempts(limit.requests, left, ends_on, granted > 0)


def _account(email: str) -> str:
    return f"account:{email.lower()}"


def _address(address: str) -> str:
    return f"address:{address[:ADDRESS_LENGTH]}"
