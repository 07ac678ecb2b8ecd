"""Letters to people about their accounts, which a worker hands to the mail server."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select, update

from persistence.database import Transaction
from persistence.tables.sign_ins import account_mail

JOB = "mail"
LEASE = timedelta(minutes=5)
FIRST_DELAY = timedelta(seconds=30)
MOST_ATTEMPTS = 8
SIGN_IN, INVITATION = "sign_in", "invitation"


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter to send: `kind` says what `content` holds, see `persistence.accounts.letters`."""

    id: int
    kind: str
    recipient: str
    content: Any


def post(tx: Transaction, kind: str, recipient: str, content: dict[str, str], lifetime: timedelta) -> None:
    """Has a worker send a letter; after its lifetime it is not sent any more."""
    values = {"kind": kind, "recipient": recipient, "content": content, "attempts": 0}
    tx.insert(account_mail, created_on=tx.now, due_on=tx.now, expires_on=tx.now + lifetime, **values)
    tx.wake(JOB)


def claim_letter(tx: Transaction) -> Letter | None:
    """The letter that is due next, for this worker for a few minutes; letters that came to nothing are deleted."""
    rows = account_mail.c
    tx.execute(delete(account_mail).where((rows.expires_on <= tx.now) | (rows.attempts >= MOST_ATTEMPTS)))
    due = select(rows.id).where(rows.due_on <= tx.now).order_by(rows.due_on, rows.id).limit(1)
    letter_id = tx.execute(due.with_for_update(skip_locked=True)).scalar()
    if letter_id is None:
        return None
    mine = update(account_mail).where(rows.id == letter_id)
    tx.execute(mine.values(due_on=tx.now + LEASE, attempts=rows.attempts + 1))
    found = tx.execute(select(rows.id, rows.kind, rows.recipient, rows.content).where(rows.id == letter_id)).one()
    return Letter(*found)


def finish_letter(tx: Transaction, letter_id: int) -> None:
    tx.execute(delete(account_mail).where(account_mail.c.id == letter_id))


def postpone_letter(tx: Transaction, letter_id: int) -> datetime:
    """Tries a letter again later, each time after twice as long; returns when."""
    rows = account_mail.c
    attempts = tx.execute(select(rows.attempts).where(rows.id == letter_id)).scalar() or 1
    due_on: datetime = tx.now + FIRST_DELAY * 2 ** (attempts - 1)
    tx.execute(update(account_mail).where(rows.id == letter_id).values(due_on=due_on))
    return due_on
