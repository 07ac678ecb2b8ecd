"""Leases of contacts: only one worker at a time continues the conversations of a contact, whatever started them. The
holder may work outside of transactions. Results are recorded only while the lease is held, so that a worker whose lease
expired changes nothing. Work that takes only a moment and calls nobody outside needs no lease, which would write each
contact once more: its results are recorded if a contact is still as it was seen.

A lease that is over but was not given back tells of a worker that died: the next one counts on. The last attempt is
made alone, so that only who ends workers is given up.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, Executable, select
from sqlalchemy.exc import DBAPIError

from persistence.changes import change_contacts
from persistence.database import Database, Transaction
from persistence.errors import waited_too_long
from persistence.leases import MOST_ATTEMPTS, Leases, beside_index, is_free
from persistence.sql.columns import columns_for
from persistence.statements import among, statement
from persistence.tables.contacts import contact

LEASE = timedelta(seconds=30)
AWAIT_MS = 250
"""How long a worker waits for whoever is changing a contact; the next sweep comes after two seconds."""
LEASES = Leases(contact, until="handling_until", count="handling_attempts")


class LeasedContact(NamedTuple):
    """The columns of a leased contact's row that flows change; `fields` are stored values by the field's UUID."""

    id: int
    name: str | None
    language: str | None
    timezone: str | None
    fields: Mapping[str, Mapping[str, str]]
    status: str


@dataclass(frozen=True, slots=True)
class ContactLeases:
    """Contacts that are leased until a time, which also distinguishes these leases from later ones. Those `given_up`
    have ended too many workers; `is_last` says that the only one is tried for the last time.
    """

    contact_ids: frozenset[int]
    until: datetime
    given_up: frozenset[int] = frozenset()
    is_last: bool = False

    def only(self, contact_id: int) -> "ContactLeases":
        """The lease of one contact, if it is among these."""
        return ContactLeases(self.contact_ids & {contact_id}, self.until)


@dataclass(frozen=True, slots=True)
class SeenContacts:
    """Contacts that nobody had leased, with the time of the last change of each."""

    changed_on: Mapping[int, datetime]

    def only(self, contact_id: int) -> "SeenContacts":
        """One of these contacts, if it is among them."""
        return SeenContacts({one: moment for one, moment in self.changed_on.items() if one == contact_id})


Claim = ContactLeases | SeenContacts
"""What a worker has of the contacts whose sprints it records."""


def acquire_leases(tx: Transaction, contact_ids: Collection[int], *, may_try_last: bool = True) -> ContactLeases:
    """Leases the free ones of these contacts; locked rows count as taken. One who is to be tried for the last time is
    leased alone, or not at all: see `may_try_last`.
    """
    until = tx.now + LEASE
    attempts = LEASES.take_free(tx, contact_ids, until)
    last = sorted(contact_id for contact_id, number in attempts.items() if number == MOST_ATTEMPTS)
    kept = frozenset(last[:1] if last and may_try_last else attempts.keys() - set(last))
    if last:
        put_back(tx, ContactLeases(frozenset(attempts) - kept, until))
    given_up = frozenset(contact_id for contact_id in kept if attempts[contact_id] > MOST_ATTEMPTS)
    return ContactLeases(kept, until, given_up, is_last=bool(last) and may_try_last)


def await_contacts(database: Database, workspace_id: int, contact_ids: Collection[int]) -> bool:
    """Waits until nobody else is changing these contacts, for a quarter of a second at most; returns whether that came.
    Nobody wakes a worker when somebody else's unit of work ends, and most end at once.
    """
    if database.sqlite:
        return False  # units of work that write exclude each other
    try:
        with database.writing(is_repeated=True) as tx:
            tx.connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{AWAIT_MS}ms'")
            lock_rows.rows(tx, workspace_id, sorted(contact_ids))
    except DBAPIError as error:
        if waited_too_long(error):
            return False
        raise
    return True


def renew_leases(tx: Transaction, leases: ContactLeases) -> ContactLeases:
    """Extends the leases that are still held."""
    until = tx.now + LEASE
    return ContactLeases(frozenset(LEASES.keep(tx, leases.contact_ids, leases.until, until)), until)


def lock_leased(tx: Transaction, leases: ContactLeases) -> list[LeasedContact]:
    """The contacts whose lease is still held, locked in the order of their ids."""
    return [LeasedContact(*row) for row in _lock_held.rows(tx, sorted(leases.contact_ids), leases.until)]


def see_free(tx: Transaction, workspace_id: int, contact_ids: Collection[int]) -> SeenContacts:
    """The free ones of these contacts, as they are now. To be called before anything of them is read."""
    return SeenContacts(dict(_select_free.rows(tx, workspace_id, sorted(contact_ids), tx.now)))


def lock_claimed(tx: Transaction, workspace_id: int, claim: Claim) -> list[LeasedContact]:
    """The contacts whose lease is still held, or that nobody has leased or changed since they were seen, locked in the
    order of their ids."""
    if isinstance(claim, ContactLeases):
        return lock_leased(tx, claim)
    rows = _lock_free.rows(tx, workspace_id, sorted(claim.changed_on), tx.now)
    unchanged = [row for row in rows if row[0] == claim.changed_on[row[2]]]
    expired = [contact_id for _, until, contact_id, *_ in unchanged if until is not None]
    if expired:  # whoever had such a lease must not record anything after this
        change_contacts(tx, workspace_id, expired, {LEASES.until: None})
    return [LeasedContact(*row) for _, _, *row in unchanged]


def release_claimed(tx: Transaction, claim: Claim, *, but: AbstractSet[int]) -> None:
    """Ends leases, `but` those of contacts whose leases end otherwise."""
    if isinstance(claim, ContactLeases):
        LEASES.free(tx, claim.contact_ids - but, claim.until)


def put_back(tx: Transaction, leases: ContactLeases) -> None:
    """Ends leases under which nothing was tried: they do not count, but those before them do."""
    LEASES.free(tx, leases.contact_ids, leases.until, was_tried=False)


@statement
def _lock_held(ids: Sequence[int], held_until: datetime) -> Executable:
    held = select(*columns_for(LeasedContact, contact)).where(LEASES.are_held(ids, held_until)).order_by(contact.c.id)
    return held.with_for_update(key_share=True)


def _are_theirs(workspace_id: int, ids: Sequence[int]) -> ColumnElement[bool]:
    return (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, ids)


@statement
def _select_free(workspace_id: int, ids: Sequence[int], now: datetime) -> Executable:
    return select(contact.c.id, contact.c.modified_on).where(
        _are_theirs(workspace_id, ids), is_free(contact.c.handling_until, now)
    )


@statement
def _lock_free(workspace_id: int, ids: Sequence[int], now: datetime) -> Executable:
    times = (contact.c.modified_on, contact.c.handling_until)
    free = select(*times, *columns_for(LeasedContact, contact)).where(
        _are_theirs(workspace_id, ids), is_free(contact.c.handling_until, now)
    )
    return free.order_by(contact.c.id).with_for_update(key_share=True)


@statement
def lock_rows(workspace_id: int, ids: Sequence[int]) -> Executable:
    mine = _are_theirs(workspace_id, ids)
    return select(contact.c.id).where(mine).order_by(contact.c.id).with_for_update(key_share=True)
