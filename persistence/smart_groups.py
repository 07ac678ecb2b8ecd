"""Groups whose members are found by a query: who belongs to them is computed, never set (contract reference, groups).

Call `refresh_contacts` in the transaction that changes contacts, and `refresh_group` when a query is made or edited.
Queries know nothing of the present, so time alone changes no membership.
"""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, Integer, and_, delete, false, func, insert, literal, select, update

from flows.queries import QueryError, inspect, parse_query, render
from persistence.campaign_fires import schedule_contacts
from persistence.campaign_passes import request_passes
from persistence.campaigns import campaign
from persistence.contact_queries import SearchScope, find_matches
from persistence.contacts import contact
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.group_members import add_members, remove_members
from persistence.groups import INITIALIZING, create_group, group, group_membership
from persistence.query_scope import open_group_scope
from persistence.workspaces import Workspace, find_workspace

CONTACTS_PER_STATEMENT = 500
GROUPS_PER_STATEMENT = 100


def check_group_query(tx: Transaction, workspace: Workspace, text: str, *, field: str = "query") -> str:
    """The canonical form of a query for a group. Raises InvalidInput for one that is broken or may not define one."""
    scope = open_group_scope(tx, workspace)
    try:
        query = parse_query(text, scope.environment, scope.resolver, clock=scope.clock)
    except QueryError as error:
        raise InvalidInput.on(field, f"{error.message[:1].upper()}{error.message[1:]}.") from error
    if not inspect(query).allow_as_group:
        raise InvalidInput.on(field, "A group cannot be based on id, ref, status, group, flow or history.")
    return render(query)


def create_query_group(tx: Transaction, workspace: Workspace, name: str, query: str) -> int:
    """A new query group, whose members a worker finds soon; its id. Raises InvalidInput or LimitReached."""
    query = check_group_query(tx, workspace, query)
    group_id = create_group(tx, workspace.id, name)
    mine = (group.c.workspace_id == workspace.id) & (group.c.id == group_id)
    tx.execute(update(group).where(mine).values(query=query, status=INITIALIZING))
    tx.wake("groups")
    return group_id


def follow_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Bring query groups and campaigns in line with contacts after changes that are no matter of tickets.

    Two statements where no own group has a query and no campaign is about these contacts.
    """
    if not contact_ids:
        return
    own = (group.c.workspace_id == workspace_id) & group.c.query.is_not(None) & ~group.c.is_system
    workspace = None
    if tx.execute(select(group.c.id).where(own).limit(1)).first() is not None:
        workspace = find_workspace(tx, workspace_id)
    if workspace is not None:
        refresh_contacts(tx, workspace, contact_ids)
    schedule_contacts(tx, workspace_id, contact_ids)


def refresh_contacts(tx: Transaction, workspace: Workspace, contact_ids: Sequence[int]) -> None:
    """Put contacts into, and take them out of, all query groups of the workspace, as their queries say now."""
    rows = tx.execute(
        select(group.c.id, group.c.query)
        .where(group.c.workspace_id == workspace.id, group.c.query.is_not(None))
        .order_by(group.c.id)
        # Waits for an evaluation under way, whose view of these contacts is older; writers do not wait for each other.
        .with_for_update(read=True, key_share=True)
    ).all()
    if not rows:
        return
    scope = open_group_scope(tx, workspace)
    for some in _chunk(sorted(set(contact_ids)), CONTACTS_PER_STATEMENT):
        for start in range(0, len(rows), GROUPS_PER_STATEMENT):
            conditions = {
                row.id: _membership(workspace.id, row.query, scope)
                for row in rows[start : start + GROUPS_PER_STATEMENT]
            }
            _settle(tx, workspace.id, conditions, contact.c.id.in_(some))


def refresh_group(tx: Transaction, workspace: Workspace, group_id: int) -> None:
    """Make exactly those contacts members of a query group that its query finds now; four statements for any number."""
    mine = (group.c.workspace_id == workspace.id) & (group.c.id == group_id)
    locked = select(group.c.query).where(mine, group.c.query.is_not(None)).with_for_update()
    condition = _membership(workspace.id, tx.execute(locked).scalar_one(), open_group_scope(tx, workspace))
    rows = group_membership.c
    found = select(contact.c.id).where(condition)
    tx.execute(delete(group_membership).where(rows.group_id == group_id, rows.contact_id.not_in(found)))
    present = select(rows.contact_id).where(rows.group_id == group_id)
    missing = select(literal(group_id, Integer), contact.c.id).where(condition, contact.c.id.not_in(present))
    tx.execute(insert(group_membership).from_select(["group_id", "contact_id"], missing))
    count = select(func.count()).select_from(group_membership).where(rows.group_id == group_id).scalar_subquery()
    tx.execute(update(group).where(mine).values(member_count=count))
    request_passes(tx, workspace.id, campaign.c.group_id == group_id)


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


def _chunk(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
