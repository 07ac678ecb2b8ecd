"""Leases of contacts: only one worker at a time continues the conversations of a contact, whatever started them. The
holder may work outside of transactions. Results are recorded only while the lease is held, so that a worker whose lease
expired changes nothing.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, or_, select, update

from persistence.database import Transaction
from persistence.sql.columns import columns_for
from persistence.tables.contacts import contact

LEASE = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class LeasedContact:
    """The columns of a leased contact's row that flows change; `fields` are stored values by the field's UUID."""

    id: int
    name: str | None
    language: str | None
    timezone: str | None
    fields: Mapping[str, Mapping[str, str]]
    status: str


@dataclass(frozen=True, slots=True)
class ContactLeases:
    """Contacts that are leased until a time, which also distinguishes these leases from later ones."""

    contact_ids: frozenset[int]
    until: datetime


def is_free(now: datetime) -> ColumnElement[bool]:
    """Whether nobody has leased a contact."""
    return or_(contact.c.handling_until.is_(None), contact.c.handling_until <= now)


def acquire_leases(tx: Transaction, contact_ids: Collection[int]) -> ContactLeases:
    """Leases the free ones of these contacts; locked rows count as taken."""
    until = tx.now + LEASE
    free = (
        select(contact.c.id)
        .where(contact.c.id.in_(sorted(contact_ids)), is_free(tx.now))
        .order_by(contact.c.id)
        .with_for_update(skip_locked=True)
    )
    taken = update(contact).where(contact.c.id.in_(free)).values(handling_until=until)
    return ContactLeases(
        frozenset(tx.execute(taken.returning(contact.c.id)).scalars()) if contact_ids else frozenset(), until
    )


def renew_leases(tx: Transaction, leases: ContactLeases) -> ContactLeases:
    """Extends the leases that are still held."""
    until = tx.now + LEASE
    renewed = update(contact).where(_are_held(leases)).values(handling_until=until)
    return ContactLeases(frozenset(tx.execute(renewed.returning(contact.c.id)).scalars()), until)


def lock_leased(tx: Transaction, leases: ContactLeases) -> list[LeasedContact]:
    """The contacts whose lease is still held, locked in the order of their ids."""
    statement = select(*columns_for(LeasedContact, contact)).where(_are_held(leases)).order_by(contact.c.id)
    return [LeasedContact(*row) for row in tx.execute(statement.with_for_update())]


def release_leases(tx: Transaction, leases: ContactLeases) -> None:
    """Ends leases."""
    tx.execute(update(contact).where(_are_held(leases)).values(handling_until=None))


def _are_held(leases: ContactLeases) -> ColumnElement[bool]:
    return contact.c.id.in_(sorted(leases.contact_ids)) & (contact.c.handling_until == leases.until)
