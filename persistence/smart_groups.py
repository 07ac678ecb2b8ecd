"""Groups whose members are found by a query: who belongs to them is computed, never set (contract reference, groups).

Call `refresh_contacts` in the transaction that changes contacts, and `refresh_group` when a query is made or edited.
Queries know nothing of the present, so time alone changes no membership.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, and_, false, select

from flows.queries import QueryError, inspect, parse_query, render
from persistence.contact_queries import SearchScope, find_matches
from persistence.contacts import contact
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.group_members import add_members, remove_members
from persistence.groups import group, group_membership
from persistence.query_scope import open_scope
from persistence.workspaces import Workspace

CONTACTS_PER_STATEMENT = 500
GROUPS_PER_STATEMENT = 100


def check_group_query(tx: Transaction, workspace: Workspace, text: str, *, field: str = "query") -> str:
    """The canonical form of a query for a group. Raises InvalidInput for one that is broken or may not define one."""
    scope = _open_unredacted(tx, workspace)
    try:
        query = parse_query(text, scope.environment, scope.resolver, clock=scope.clock)
    except QueryError as error:
        raise InvalidInput.on(field, f"{error.message[:1].upper()}{error.message[1:]}.") from error
    if not inspect(query).allow_as_group:
        raise InvalidInput.on(field, "A group cannot be based on id, ref, status, group, flow or history.")
    return render(query)


def refresh_contacts(tx: Transaction, workspace: Workspace, contact_ids: Sequence[int]) -> None:
    """Put contacts into, and take them out of, all query groups of the workspace, as their queries say now."""
    rows = tx.execute(
        select(group.c.id, group.c.query)
        .where(group.c.workspace_id == workspace.id, group.c.query.is_not(None))
        .order_by(group.c.id)
    ).all()
    if not rows:
        return
    scope = _open_unredacted(tx, workspace)
    for some in _chunk(sorted(set(contact_ids)), CONTACTS_PER_STATEMENT):
        for start in range(0, len(rows), GROUPS_PER_STATEMENT):
            conditions = {
                row.id: _membership(workspace.id, row.query, scope)
                for row in rows[start : start + GROUPS_PER_STATEMENT]
            }
            _settle(tx, workspace.id, conditions, contact.c.id.in_(some))


def refresh_group(tx: Transaction, workspace: Workspace, group_id: int) -> None:
    """Make exactly those contacts members of a query group that its query finds now."""
    mine = (group.c.workspace_id == workspace.id) & (group.c.id == group_id)
    query = tx.execute(select(group.c.query).where(mine, group.c.query.is_not(None))).scalar_one()
    condition = _membership(workspace.id, query, _open_unredacted(tx, workspace))
    found = set(tx.execute(select(contact.c.id).where(condition)).scalars())
    members = select(group_membership.c.contact_id).where(group_membership.c.group_id == group_id)
    present = set(tx.execute(members).scalars())
    for some in _chunk(sorted(found - present), CONTACTS_PER_STATEMENT):
        add_members(tx, workspace.id, group_id, some)
    for some in _chunk(sorted(present - found), CONTACTS_PER_STATEMENT):
        remove_members(tx, workspace.id, group_id, some)


def _settle(
    tx: Transaction, workspace_id: int, conditions: dict[int, ColumnElement[bool]], among: ColumnElement[bool]
) -> None:
    """Brings the memberships of some contacts in line with the conditions of groups, read in one statement."""
    columns = [condition.label(f"in_{group_id}") for group_id, condition in conditions.items()]
    matches = tx.execute(select(contact.c.id, *columns).where(contact.c.workspace_id == workspace_id, among)).all()
    rows = group_membership.c
    held = select(rows.group_id, rows.contact_id).where(
        rows.group_id.in_(conditions), rows.contact_id.in_([row.id for row in matches])
    )
    present = {(group_id, contact_id) for group_id, contact_id in tx.execute(held)}
    for position, group_id in enumerate(conditions, start=1):
        wanted = {row.id for row in matches if row[position]}
        members = {contact_id for held_group, contact_id in present if held_group == group_id}
        if wanted - members:
            add_members(tx, workspace_id, group_id, sorted(wanted - members))
        if members - wanted:
            remove_members(tx, workspace_id, group_id, sorted(members - wanted))


def _membership(workspace_id: int, text: str, scope: SearchScope) -> ColumnElement[bool]:
    """The condition for members; a query that no longer makes sense, for lack of a field it names, has none."""
    try:
        query = parse_query(text, scope.environment, scope.resolver, clock=scope.clock)
        return and_(find_matches(workspace_id, query, scope))
    except QueryError:
        return false()


def _open_unredacted(tx: Transaction, workspace: Workspace) -> SearchScope:
    # What people may not see still decides which groups they are in.
    scope = open_scope(tx, workspace)
    return replace(scope, environment=replace(scope.environment, redaction_policy="none"))


def _chunk(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
