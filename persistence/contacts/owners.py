"""The contacts that own URNs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import orjson
from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    ColumnElement,
    Executable,
    FromClause,
    TableValuedAlias,
    Text,
    TypeDecorator,
    and_,
    cast,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    union,
)
from sqlalchemy.engine import Dialect

from flows.urns import Urn
from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.sql.fixed_statements import Fixed, ListOf, param
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
    is_new: bool = False


def is_one_of(urns: Iterable[Urn]) -> ColumnElement[bool]:
    """Whether a row is one of these URNs. SQLite uses no index for pairs, so each scheme has its own list."""
    paths: dict[str, list[str]] = {}
    for urn in urns:
        paths.setdefault(urn.scheme, []).append(urn.path)
    rows = contact_urn.c
    return or_(false(), *(and_(rows.scheme == scheme, rows.path.in_(listed)) for scheme, listed in paths.items()))


ONE: ColumnElement[int] = literal_column("1")
ADDRESSES = "addresses"
"""The parameter with URNs, as pairs of scheme and path, of fixed statements."""


class _Pairs(TypeDecorator[Sequence[Sequence[str]]]):
    """Pairs of texts as one JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[Sequence[str]] | None, dialect: Dialect) -> str:
        return orjson.dumps(list(value or ())).decode()


def addresses_of(urns: Iterable[Urn]) -> list[tuple[str, str]]:
    """The value of ADDRESSES."""
    return [(urn.scheme, urn.path) for urn in urns]


def _is_listed_on_sqlite() -> ColumnElement[bool]:
    """Whether a row is one of the URNs in the parameter ADDRESSES."""
    rows = contact_urn.c
    pair = func.json_each(param(ADDRESSES, _Pairs())).table_valued("value")
    first, second = (func.json_extract(pair.c.value, literal_column(f"'$[{place}]'")) for place in (0, 1))
    return tuple_(rows.scheme, rows.path).in_(select(first, second))


def _seek_urns() -> tuple[TableValuedAlias, FromClause]:
    """The URNs in the parameter ADDRESSES on PostgreSQL, each with the row that has it. Each is a seek, which no plan
    turns into a join: before PostgreSQL knows a table it takes it for small, and would read it again for each URN.
    """
    rows = contact_urn.c
    pairs = func.json_array_elements(cast(param(ADDRESSES, _Pairs()), JSON)).table_valued("value")
    scheme, path = (pairs.c.value.op("->>")(literal_column(place)) for place in ("0", "1"))
    mine = (rows.workspace_id == param("owner"), rows.scheme == scheme, rows.path == path)
    found = select(rows.id, rows.scheme, rows.path, rows.contact_id).where(*mine).limit(ONE).correlate(pairs)
    return pairs, found.lateral("urn")


def _find(is_sqlite: bool) -> Executable:
    rows = contact_urn.c
    if is_sqlite:
        return (
            select(rows.id, rows.scheme, rows.path, contact.c.id, contact.c.uuid, contact.c.name, contact.c.status)
            .join(contact, contact.c.id == rows.contact_id)
            .where(rows.workspace_id == param("owner"), _is_listed_on_sqlite())
        )
    pairs, urn = _seek_urns()
    theirs = (contact.c.workspace_id == param("owner"), contact.c.id == urn.c.contact_id)
    columns = (contact.c.id, contact.c.uuid, contact.c.name, contact.c.status)
    owner = select(*columns).where(*theirs).limit(ONE).correlate(urn).lateral("owner")
    found = pairs.join(urn, true()).join(owner, true())
    return select(urn.c.id, urn.c.scheme, urn.c.path, *owner.c).select_from(found)


def _hold(is_sqlite: bool, *, has_others: bool, changes: bool) -> Executable:
    """For PostgreSQL: on SQLite, where one transaction writes at a time, nothing is locked."""
    if is_sqlite:
        return _find(is_sqlite)
    pairs, urn = _seek_urns()
    owning = select(urn.c.contact_id.label("id")).select_from(pairs.join(urn, true()))
    named = select(func.unnest(cast(param("beside", ListOf()), ARRAY(BigInteger))).label("id"))
    wanted = (union(owning, named) if has_others else owning.distinct()).subquery("wanted")
    in_order = select(wanted.c.id).order_by(wanted.c.id).subquery("in_order")
    theirs = (contact.c.workspace_id == param("owner"), contact.c.id == in_order.c.id)
    holding = select(contact.c.id).where(*theirs).correlate(in_order)
    held = holding.with_for_update(read=not changes, key_share=not changes).lateral("held")
    return select(held.c.id).select_from(in_order.join(held, true()))


_FINDING = Fixed(_find)
_HOLDING = {
    (has_others, changes): Fixed(partial(_hold, has_others=has_others, changes=changes))
    for has_others in (False, True)
    for changes in (False, True)
}


def find_owners(tx: Transaction, workspace_id: int, urns: Sequence[Urn]) -> dict[str, UrnOwner]:
    """The owners of those of these URNs that have one, by URN identity; one statement."""
    if not urns:
        return {}
    owners = {}
    found = _FINDING.rows(tx, {"owner": workspace_id, ADDRESSES: addresses_of(urns)})
    for urn_id, scheme, path, contact_id, uuid, name, status in found:
        identity = Urn(scheme, path).identity
        owners[identity] = UrnOwner(identity, urn_id, contact_id, uuid, name, status)
    return owners


def hold_owners(
    tx: Transaction, workspace_id: int, urns: Sequence[Urn], beside: Sequence[int] = (), *, changes: bool = True
) -> dict[str, UrnOwner]:
    """Like `find_owners`, but locks the owners: until this transaction ends they keep their URNs and are not deleted;
    two statements, one if there are no owners. The contacts `beside` are locked with them, in one order. Without
    `changes` other transactions can share the lock. Raises LostRace if a URN moved to a contact that is not locked.
    """
    if not urns or tx.sqlite:  # where only one transaction writes at a time
        return find_owners(tx, workspace_id, urns)
    values = {"owner": workspace_id, ADDRESSES: addresses_of(urns)} | ({"beside": beside} if beside else {})
    held = {contact_id for (contact_id,) in _HOLDING[bool(beside), changes].rows(tx, values)}
    if not held:
        return {}  # whoever creates owners for them now loses the race against one that has come meanwhile
    owners = find_owners(tx, workspace_id, urns)
    if any(owner.contact_id not in held for owner in owners.values()):
        raise LostRace
    return owners
