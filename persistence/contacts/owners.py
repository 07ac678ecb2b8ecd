"""The contacts that own URNs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, false, or_, select, union_all

from flows.urns import Urn
from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.tables.contacts import contact, contact_urn


@dataclass(frozen=True, slots=True)
class UrnOwner:
    """The contact that owns a URN, with what is needed to receive from it or send to it."""

    urn: str
    urn_id: int
    contact_id: int
    uuid: str
    name: str | None
    status: str


def is_one_of(urns: Iterable[Urn]) -> ColumnElement[bool]:
    """Whether a row is one of these URNs. SQLite uses no index for pairs, so each scheme has its own list."""
    paths: dict[str, list[str]] = {}
    for urn in urns:
        paths.setdefault(urn.scheme, []).append(urn.path)
    rows = contact_urn.c
    return or_(false(), *(and_(rows.scheme == scheme, rows.path.in_(listed)) for scheme, listed in paths.items()))


def find_owners(tx: Transaction, workspace_id: int, urns: Sequence[Urn]) -> dict[str, UrnOwner]:
    """The owners of those of these URNs that have one, by URN identity; one statement."""
    if not urns:
        return {}
    rows = contact_urn.c
    statement = (
        select(rows.id, rows.scheme, rows.path, contact.c.id, contact.c.uuid, contact.c.name, contact.c.status)
        .join(contact, contact.c.id == rows.contact_id)
        .where(rows.workspace_id == workspace_id, is_one_of(urns))
    )
    owners = {}
    for urn_id, scheme, path, contact_id, uuid, name, status in tx.execute(statement):
        identity = Urn(scheme, path).identity
        owners[identity] = UrnOwner(identity, urn_id, contact_id, uuid, name, status)
    return owners


def hold_owners(
    tx: Transaction, workspace_id: int, urns: Sequence[Urn], beside: Sequence[int] = (), *, changes: bool = True
) -> dict[str, UrnOwner]:
    """Like `find_owners`, but locks the owners: until this transaction ends they keep their URNs and are not deleted;
    two statements. The contacts `beside` are locked with them, in one order. Without `changes` other transactions can
    share the lock. Raises LostRace if a URN moved to a contact that is not locked.
    """
    if not urns or tx.sqlite:  # where only one transaction writes at a time
        return find_owners(tx, workspace_id, urns)
    rows = contact_urn.c
    owning = select(rows.contact_id).where(rows.workspace_id == workspace_id, is_one_of(urns))
    named = select(contact.c.id).where(contact.c.id.in_(beside))
    mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(union_all(owning, named) if beside else owning)
    holding = select(contact.c.id).where(mine).order_by(contact.c.id)
    held = set(tx.execute(holding.with_for_update(read=not changes, key_share=not changes)).scalars())
    owners = find_owners(tx, workspace_id, urns)
    if any(owner.contact_id not in held for owner in owners.values()):
        raise LostRace
    return owners
