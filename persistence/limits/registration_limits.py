"""How many phones may register from one address; nobody has a token there, and each registration is a row."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from persistence.database import Transaction
from persistence.tables.channels import ADDRESS_LENGTH, registration_window


class TooManyRegistrations(Exception):
    """An address has used up its registrations; `retry_after_seconds` says when there are more."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class Origin:
    """The address a registration comes from, and how many it may make per period."""

    address: str
    limit: int
    period: timedelta


def count_registration(tx: Transaction, origin: Origin) -> None:
    """Count one new phone of an address. Raises TooManyRegistrations beyond the limit."""
    rows = registration_window.c
    address, limit, period = origin.address[:ADDRESS_LENGTH], origin.limit, origin.period
    insert = sqlite.insert if tx.sqlite else postgresql.insert
    first = insert(registration_window).values(address=address, began_on=tx.now, taken=0)
    tx.execute(first.on_conflict_do_nothing())
    mine = rows.address == address
    row = tx.execute(select(rows.began_on, rows.taken).where(mine).with_for_update()).one()
    began_on, taken = (row.began_on, row.taken) if tx.now < row.began_on + period else (tx.now, 0)
    if taken >= limit:
        raise TooManyRegistrations(_seconds_until(began_on + period, tx.now))
    tx.execute(update(registration_window).where(mine).values(began_on=began_on, taken=taken + 1))


def forget_windows(tx: Transaction, before: datetime) -> None:
    """Remove the counts of windows that began before a moment."""
    tx.execute(delete(registration_window).where(registration_window.c.began_on < before))


def _seconds_until(moment: datetime, now: datetime) -> int:
    return max(1, int((moment - now).total_seconds()) + 1)
