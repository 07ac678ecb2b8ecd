"""Whom a broadcast or a start is for: contacts it names, members of its groups, matches of its query.

Each contact once, a page at a time in the order of ids, as things are at that moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, func, select, union

from flows.queries import parse_query
from persistence.contacts.queries import find_matches
from persistence.contacts.query_scope import open_scope
from persistence.database import Transaction
from persistence.tables.contacts import ACTIVE, contact, group_membership
from persistence.workspaces import Workspace


@dataclass(frozen=True, slots=True)
class Audience:
    """`named` selects the ids of contacts in whatever state, `groups` and `excluded` those of groups.

    Members of groups and matches of the query are active; members of excluded groups are left out, however named.
    """

    named: Select[Any]
    groups: Select[Any]
    query: str | None = None
    excluded: Select[Any] | None = None


def pick_ids(
    tx: Transaction, workspace: Workspace, audience: Audience, last_contact_id: int, size: int
) -> Sequence[int]:
    """The ids of up to `size` contacts after one, whatever the number of members of the groups.

    Raises QueryError for a query that makes no sense (any more).
    """
    parts = [_cut(source, last_contact_id, size) for source in _open_sources(tx, workspace, audience)]
    return tx.execute(union(*parts).order_by("contact_id").limit(size)).scalars().all()


def count_contacts(tx: Transaction, workspace: Workspace, audience: Audience) -> int:
    """How many contacts there are now. Raises QueryError."""
    everybody = union(*_open_sources(tx, workspace, audience)).subquery()
    return int(tx.execute(select(func.count()).select_from(everybody)).scalar_one())


def _open_sources(tx: Transaction, workspace: Workspace, audience: Audience) -> list[Select[Any]]:
    """The parts of an audience, each a selection of contacts' ids."""
    exists = (contact.c.workspace_id == workspace.id) & ~contact.c.is_deleted
    sources = [audience.named.join(contact, contact.c.id == audience.named.selected_columns[0]).where(exists)]
    members = select(group_membership.c.contact_id).join(contact, contact.c.id == group_membership.c.contact_id)
    sources += [
        members.where(exists, contact.c.status == ACTIVE, group_membership.c.group_id == group_id)
        for group_id in tx.execute(audience.groups).scalars()
    ]
    if audience.query:
        scope = open_scope(tx, workspace)
        query = parse_query(audience.query, scope.environment, scope.resolver, clock=scope.clock)
        matches = find_matches(workspace.id, query, scope)
        sources.append(select(contact.c.id.label("contact_id")).where(matches, contact.c.status == ACTIVE))
    if audience.excluded is None:
        return sources
    rows = group_membership.c
    left_out = select(rows.contact_id).where(rows.group_id.in_(audience.excluded))
    return [source.where(contact.c.id.not_in(left_out)) for source in sources]


def _cut(source: Select[Any], last_contact_id: int, size: int) -> Select[Any]:
    """The first rows after a contact; only in subqueries may the parts of a union have limits on every database."""
    column = source.selected_columns[0]
    first = source.where(column > last_contact_id).order_by(column).limit(size).subquery()
    return select(first.c.contact_id)
