"""Who gets a broadcast: the contacts it names and the active members of its groups, each once, in the order of ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Integer, Select, false, func, insert, literal, select, union

from flows.queries import QueryError, parse_query
from persistence.broadcasts import broadcast_contact, broadcast_group
from persistence.contact_queries import find_matches
from persistence.contacts import ACTIVE, contact
from persistence.database import Transaction
from persistence.flow_contacts import CONTACT_COLUMNS
from persistence.groups import group_membership
from persistence.query_scope import open_scope
from persistence.workspaces import Workspace


@dataclass(frozen=True, slots=True)
class Recipients:
    """Some recipients: rows of contacts, the last id looked at (None: nobody was left), and whether that was the end.

    Contacts deleted this very moment are among those looked at and not among the rows.
    """

    rows: Sequence[Any]
    last_contact_id: int | None
    is_end: bool


def next_recipients(
    tx: Transaction, workspace_id: int, broadcast_id: int, last_contact_id: int, size: int
) -> Recipients:
    """Up to `size` recipients after a contact; they are held until the transaction ends, so that nobody deletes them.

    Three statements, which read `size` rows of each group, however many members it has.
    """
    ids = pick_ids(tx, broadcast_id, last_contact_id, size)
    columns = contact.c
    statement = (
        select(*CONTACT_COLUMNS)
        .where(columns.workspace_id == workspace_id, columns.id.in_(ids), ~columns.is_deleted)
        .order_by(columns.id)
        .with_for_update(read=True)
    )
    rows = tx.execute(statement).all() if ids else []
    return Recipients(rows, ids[-1] if ids else None, len(ids) < size)


def pick_ids(tx: Transaction, broadcast_id: int, last_contact_id: int, size: int) -> Sequence[int]:
    """The ids of the next recipients as things are now."""
    mine = broadcast_group.c.broadcast_id == broadcast_id
    group_ids = tx.execute(select(broadcast_group.c.group_id).where(mine).order_by(broadcast_group.c.group_id))
    sources = [_named(broadcast_id), *(_members().where(group_id == _GROUP_ID) for group_id in group_ids.scalars())]
    parts = [_cut(source, last_contact_id, size) for source in sources]
    return tx.execute(union(*parts).order_by("contact_id").limit(size)).scalars().all()


def count_recipients(tx: Transaction, broadcast_id: int) -> int:
    """How many contacts the broadcast goes to as things are now."""
    groups = select(broadcast_group.c.group_id).where(broadcast_group.c.broadcast_id == broadcast_id)
    everybody = union(_named(broadcast_id), _members().where(_GROUP_ID.in_(groups)))
    return int(tx.execute(select(func.count()).select_from(everybody.subquery())).scalar_one())


_GROUP_ID = group_membership.c.group_id


def _named(broadcast_id: int) -> Select[Any]:
    return (
        select(broadcast_contact.c.contact_id)
        .join(contact, contact.c.id == broadcast_contact.c.contact_id)
        .where(broadcast_contact.c.broadcast_id == broadcast_id, ~contact.c.is_deleted)
    )


def _members() -> Select[Any]:
    return (
        select(group_membership.c.contact_id)
        .join(contact, contact.c.id == group_membership.c.contact_id)
        .where(contact.c.status == ACTIVE, ~contact.c.is_deleted)
    )


def _cut(source: Select[Any], last_contact_id: int, size: int) -> Select[Any]:
    """The first rows after a contact; only in subqueries may the parts of a union have limits on every database."""
    column = source.selected_columns[0]
    first = source.where(column > last_contact_id).order_by(column).limit(size).subquery()
    return select(first.c.contact_id)


def add_matches(tx: Transaction, workspace: Workspace, broadcast_id: int, query: str) -> None:
    """Makes everybody whom a contact query finds now a recipient; a query that is broken finds nobody."""
    scope = open_scope(tx, workspace)
    try:
        parsed = parse_query(query, scope.environment, scope.resolver, clock=scope.clock)
        found = find_matches(workspace.id, parsed, scope)
    except QueryError:
        return
    named = select(broadcast_contact.c.contact_id).where(broadcast_contact.c.broadcast_id == broadcast_id)
    columns = (literal(broadcast_id, Integer), contact.c.id, false())
    matches = select(*columns).where(found, contact.c.status == ACTIVE, contact.c.id.not_in(named))
    tx.execute(insert(broadcast_contact).from_select(["broadcast_id", "contact_id", "is_named"], matches))
