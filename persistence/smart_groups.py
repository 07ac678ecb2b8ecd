"""Groups whose members are found by a query: who belongs to them is computed, never set (contract reference, groups).

Call `refresh_contacts` in the transaction that changes contacts, and `renew_groups_about` when what queries read
changes. Queries know nothing of the present, so time alone changes no membership.
"""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, and_, case, exists, false, select, update

from flows.environment import Environment
from flows.queries import QueryError, inspect, parse_query, render
from persistence.campaign_fires import schedule_contacts
from persistence.contact_queries import SearchScope, find_matches
from persistence.contacts import contact
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.group_members import add_members, lock_contacts, remove_members
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
        # Waits for changes of what queries read, which wait for this; writers do not wait for each other.
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


def renew_groups_about(tx: Transaction, workspace_id: int, key: str) -> None:
    """Lets a worker find the members of all query groups anew that speak of a field, which has changed.

    Waits for those who are placing contacts by what the field was; whoever comes later sees what it is now.
    """
    mine = (group.c.workspace_id == workspace_id) & group.c.query.is_not(None)
    rows = tx.execute(select(group.c.id, group.c.query).where(mine))
    group_ids = sorted(row.id for row in rows if speaks_of(row.query, key))
    if not group_ids:
        return
    stale = mine & group.c.id.in_(group_ids)
    tx.execute(select(group.c.id).where(stale).order_by(group.c.id).with_for_update())
    tx.execute(update(group).where(stale).values(status=INITIALIZING, evaluated_until=None))
    tx.wake("groups")


def speaks_of(query: str, key: str) -> bool:
    """Whether a query names a field, even one that the workspace lacks or whose type no longer fits."""
    try:
        return any(used == key for used, _ in inspect(parse_query(query, Environment())).fields)
    except QueryError:
        return False


def refresh_some(tx: Transaction, workspace: Workspace, group_id: int, after_id: int) -> int | None:
    """Put the next contacts after an id into a query group or take them out, as its query says now.

    Up to CONTACTS_PER_STATEMENT of those that are in it wrongly, or wrongly not. Returns the id of the last one, None
    when there are no more.
    """
    text = select(group.c.query).where(group.c.workspace_id == workspace.id, group.c.id == group_id)
    condition = _membership(workspace.id, tx.execute(text).scalar_one(), open_group_scope(tx, workspace))
    is_member = exists().where(group_membership.c.group_id == group_id, group_membership.c.contact_id == contact.c.id)
    of_workspace = (contact.c.workspace_id == workspace.id) & (contact.c.id > after_id)
    wrong = select(contact.c.id).where(of_workspace, case((condition, 1), else_=0) != case((is_member, 1), else_=0))
    ids: list[int] = list(tx.execute(wrong.order_by(contact.c.id).limit(CONTACTS_PER_STATEMENT)).scalars())
    if not ids:
        return None
    # Who held one of them, or changed what the query reads, may have been waited for: all is looked at again.
    lock_contacts(tx, workspace.id, ids)
    held = tx.execute(text.with_for_update(read=True, key_share=True)).scalar_one_or_none()
    if held is None:
        return None
    _settle(
        tx,
        workspace.id,
        {group_id: _membership(workspace.id, held, open_group_scope(tx, workspace))},
        contact.c.id.in_(ids),
    )
    return ids[-1]


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
