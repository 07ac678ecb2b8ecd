"""Leases of contacts: only one worker at a time continues the conversations of a contact, whatever started them. The
holder may work outside of transactions. Results are recorded only while the lease is held, so that a worker whose lease
expired changes nothing. Work that takes only a moment and calls nobody outside needs no lease, which would write each
contact once more: its results are recorded if a contact is still as it was seen.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, ColumnElement, Executable, null, or_, select, update
from sqlalchemy.exc import DBAPIError

from persistence.database import Database, Transaction
from persistence.errors import LOCK_NOT_AVAILABLE
from persistence.sql.columns import UtcDateTime, columns_for
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.sql.index_choice import beside_index
from persistence.tables.contacts import contact

LEASE = timedelta(seconds=30)
AWAIT_MS = 250
"""How long a worker waits for whoever is changing a contact; the next sweep comes after two seconds."""


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
    """Contacts that are leased until a time, which also distinguishes these leases from later ones."""

    contact_ids: frozenset[int]
    until: datetime

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


def is_free(now: datetime | BindParameter[datetime]) -> ColumnElement[bool]:
    """Whether nobody has leased a contact."""
    return or_(contact.c.handling_until.is_(None), contact.c.handling_until <= now)


def acquire_leases(tx: Transaction, contact_ids: Collection[int]) -> ContactLeases:
    """Leases the free ones of these contacts; locked rows count as taken."""
    until = tx.now + LEASE
    if not contact_ids:
        return ContactLeases(frozenset(), until)
    wanted = {"wanted": sorted(contact_ids), "now": tx.now, "until": until}
    return ContactLeases(frozenset(contact_id for (contact_id,) in _TAKING.rows(tx, wanted)), until)


def await_contacts(database: Database, workspace_id: int, contact_ids: Collection[int]) -> bool:
    """Waits until nobody else is changing these contacts, for a quarter of a second at most; returns whether that came.
    Nobody wakes a worker when somebody else's unit of work ends, and most end at once.
    """
    if database.sqlite:
        return False  # units of work that write exclude each other
    try:
        with database.writing() as tx:
            tx.connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{AWAIT_MS}ms'")
            _AWAITING.rows(tx, {"owner": workspace_id, "wanted": sorted(contact_ids)})
    except DBAPIError as error:
        if getattr(error.orig, "pgcode", None) == LOCK_NOT_AVAILABLE:
            return False
        raise
    return True


def renew_leases(tx: Transaction, leases: ContactLeases) -> ContactLeases:
    """Extends the leases that are still held."""
    until = tx.now + LEASE
    held = {**_held(leases), "until": until}
    return ContactLeases(frozenset(contact_id for (contact_id,) in _RENEWING.rows(tx, held)), until)


def lock_leased(tx: Transaction, leases: ContactLeases) -> list[LeasedContact]:
    """The contacts whose lease is still held, locked in the order of their ids."""
    return [LeasedContact(*row) for row in _LOCKING.rows(tx, _held(leases))]


def see_free(tx: Transaction, workspace_id: int, contact_ids: Collection[int]) -> SeenContacts:
    """The free ones of these contacts, as they are now. To be called before anything of them is read."""
    return SeenContacts(dict(_SEEING.rows(tx, _of_owner(tx, workspace_id, contact_ids))))


def lock_claimed(tx: Transaction, workspace_id: int, claim: Claim) -> list[LeasedContact]:
    """The contacts whose lease is still held, or that nobody has leased or changed since they were seen, locked in the
    order of their ids."""
    if isinstance(claim, ContactLeases):
        return lock_leased(tx, claim)
    rows = _LOCKING_FREE.rows(tx, _of_owner(tx, workspace_id, claim.changed_on))
    unchanged = [row for row in rows if row[0] == claim.changed_on[row[2]]]
    expired = [contact_id for _, until, contact_id, *_ in unchanged if until is not None]
    if expired:  # whoever had such a lease must not record anything after this
        _CLEARING.run_later(tx, {"wanted": expired})
    return [LeasedContact(*row) for _, _, *row in unchanged]


def release_claimed(tx: Transaction, claim: Claim, *, but: AbstractSet[int]) -> None:
    """Ends leases, `but` those of contacts whose leases end otherwise."""
    if isinstance(claim, ContactLeases):
        release_leases(tx, ContactLeases(claim.contact_ids - but, claim.until))


def release_leases(tx: Transaction, leases: ContactLeases) -> None:
    """Ends leases."""
    if leases.contact_ids:
        _RELEASING.run_later(tx, _held(leases))


def _of_owner(tx: Transaction, workspace_id: int, contact_ids: Collection[int]) -> dict[str, Any]:
    return {"owner": workspace_id, "wanted": sorted(contact_ids), "now": tx.now}


def _held(leases: ContactLeases) -> dict[str, Any]:
    return {"wanted": sorted(leases.contact_ids), "held_until": leases.until}


_ARE_WANTED = among(contact.c.id, "wanted")
_ARE_HELD = _ARE_WANTED & (contact.c.handling_until == param("held_until", UtcDateTime))
_UNTIL: BindParameter[datetime] = param("until", UtcDateTime)


def _take(_is_sqlite: bool) -> Executable:
    free = select(contact.c.id).where(_ARE_WANTED, is_free(param("now", UtcDateTime))).order_by(contact.c.id)
    free = free.with_for_update(skip_locked=True, key_share=True)
    return update(contact).where(contact.c.id.in_(free)).values(handling_until=_UNTIL).returning(contact.c.id)


def _renew(_is_sqlite: bool) -> Executable:
    return update(contact).where(_ARE_HELD).values(handling_until=_UNTIL).returning(contact.c.id)


def _release(_is_sqlite: bool) -> Executable:
    return update(contact).where(_ARE_HELD).values(handling_until=null())


def _lock(_is_sqlite: bool) -> Executable:
    held = select(*columns_for(LeasedContact, contact)).where(_ARE_HELD).order_by(contact.c.id)
    return held.with_for_update(key_share=True)


_ARE_FREE = (beside_index(contact.c.workspace_id) == param("owner")) & _ARE_WANTED & is_free(param("now", UtcDateTime))


def _see(_is_sqlite: bool) -> Executable:
    return select(contact.c.id, contact.c.modified_on).where(_ARE_FREE)


def _lock_free(_is_sqlite: bool) -> Executable:
    times = (contact.c.modified_on, contact.c.handling_until)
    free = select(*times, *columns_for(LeasedContact, contact)).where(_ARE_FREE)
    return free.order_by(contact.c.id).with_for_update(key_share=True)


def _clear(_is_sqlite: bool) -> Executable:
    return update(contact).where(_ARE_WANTED).values(handling_until=null())


def _await(_is_sqlite: bool) -> Executable:
    mine = (beside_index(contact.c.workspace_id) == param("owner")) & _ARE_WANTED
    return select(contact.c.id).where(mine).order_by(contact.c.id).with_for_update(key_share=True)


_TAKING, _RENEWING, _RELEASING, _LOCKING = Fixed(_take), Fixed(_renew), Fixed(_release), Fixed(_lock)
_AWAITING, _SEEING, _LOCKING_FREE, _CLEARING = Fixed(_await), Fixed(_see), Fixed(_lock_free), Fixed(_clear)
