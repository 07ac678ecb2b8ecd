"""Smart groups: a query finds their members, which cannot be set manually (contract reference, groups). Call
`refresh_contacts` in the transaction that changes contacts, and `renew_groups_about` when fields that queries read
change. Queries do not depend on the current time, so time alone changes no membership.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, case, exists, false, select, update

from flows.environment import Environment
from flows.queries import QueryError, inspect, parse_query, render
from persistence.campaigns.fires import schedule_contacts
from persistence.contacts.queries import SearchScope, find_matches
from persistence.contacts.query_scope import open_group_scope
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.groups.groups import create_group
from persistence.groups.members import add_members, lock_contacts, remove_members
from persistence.sql.columns import split
from persistence.tables.contacts import EVALUATING, INITIALIZING, READY, contact, group, group_membership
from persistence.workspaces import Workspace, find_workspace

CONTACTS_PER_STATEMENT = 500
GROUPS_PER_STATEMENT = 100


def check_group_query(tx: Transaction, workspace: Workspace, text: str, *, field: str = "query") -> str:
    """The canonical form of a query for a group. Raises InvalidInput for a query that is invalid or not allowed for
    groups."""
    scope = open_group_scope(tx, workspace)
    try:
        query = parse_query(text or "", scope.environment, scope.resolver, clock=scope.clock)
    except QueryError as error:
        raise InvalidInput.on(field, f"{error.message[:1].upper()}{error.message[1:]}.") from error
    if not inspect(query).allow_as_group:
        raise InvalidInput.on(field, "A group cannot be based on id, ref, status, group, flow or history.")
    return render(query)


def create_query_group(tx: Transaction, workspace: Workspace, name: str, query: str) -> int:
    """Create a smart group, whose members a worker finds soon; returns its id. Raises InvalidInput or LimitReached."""
    query = check_group_query(tx, workspace, query)
    group_id = create_group(tx, workspace.id, name)
    mine = (group.c.workspace_id == workspace.id) & (group.c.id == group_id)
    tx.execute(update(group).where(mine).values(query=query, status=INITIALIZING))
    tx.wake("groups")
    return group_id


def follow_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Update smart groups and campaigns after changes of contacts that do not concern tickets. Two statements if there
    is no smart group of users and no campaign for these contacts.
    """
    if not contact_ids:
        return
    own = (group.c.workspace_id == workspace_id) & group.c.query.is_not(None) & ~group.c.is_system
    is_needed = tx.execute(select(group.c.id).where(own).limit(1)).first() is not None
    workspace = find_workspace(tx, workspace_id) if is_needed else None
    if workspace is not None:
        refresh_contacts(tx, workspace, contact_ids)
    schedule_contacts(tx, workspace_id, contact_ids)


def refresh_contacts(tx: Transaction, workspace: Workspace, contact_ids: Sequence[int]) -> None:
    """Add contacts to, and remove them from, all smart groups of the workspace according to the queries."""
    rows = tx.execute(
        select(group.c.id, group.c.query)
        .where(group.c.workspace_id == workspace.id, group.c.query.is_not(None))
        .order_by(group.c.id)
        # A shared lock: it waits for changes of fields that queries read, and they wait for it; writers do not wait for
        # each other.
        .with_for_update(read=True, key_share=True)
    ).all()
    if not rows:
        return
    scope = open_group_scope(tx, workspace)
    for some in split(sorted(set(contact_ids)), CONTACTS_PER_STATEMENT):
        for groups in split(rows, GROUPS_PER_STATEMENT):
            conditions = {group_id: _membership(workspace.id, query, scope) for group_id, query in groups}
            _update_members(tx, workspace.id, conditions, contact.c.id.in_(some))


def renew_groups_about(tx: Transaction, workspace_id: int, key: str) -> None:
    """Lets a worker find the members of all smart groups that name a changed field again. Waits for transactions that
    use the old field; later ones see the new one.
    """
    mine = (group.c.workspace_id == workspace_id) & group.c.query.is_not(None)
    rows = tx.execute(select(group.c.id, group.c.query).where(mine))
    group_ids = sorted(group_id for group_id, query in rows if speaks_of(query, key))
    if not group_ids:
        return
    stale = mine & group.c.id.in_(group_ids)
    tx.execute(select(group.c.id).where(stale).order_by(group.c.id).with_for_update())
    tx.execute(update(group).where(stale).values(status=INITIALIZING, evaluated_until=None))
    tx.wake("groups")


def speaks_of(query: str | None, key: str) -> bool:
    """Whether a query names a field, even if the field does not exist or its type no longer matches."""
    try:
        return any(used == key for used, _ in inspect(parse_query(query or "", Environment())).fields)
    except QueryError:
        return False


def refresh_some(tx: Transaction, workspace: Workspace, group_id: int, after_id: int) -> int | None:
    """Add the next contacts after an id to a smart group or remove them, according to its query: up to
    CONTACTS_PER_STATEMENT contacts whose membership is wrong. Returns the id of the last one, None if there are no
    more.
    """
    text = select(group.c.query).where(group.c.workspace_id == workspace.id, group.c.id == group_id)
    condition = _membership(workspace.id, tx.execute(text).scalar_one(), open_group_scope(tx, workspace))
    is_member = exists().where(group_membership.c.group_id == group_id, group_membership.c.contact_id == contact.c.id)
    of_workspace = (contact.c.workspace_id == workspace.id) & (contact.c.id > after_id)
    wrong = select(contact.c.id).where(of_workspace, case((condition, 1), else_=0) != case((is_member, 1), else_=0))
    ids = list(tx.execute(wrong.order_by(contact.c.id).limit(CONTACTS_PER_STATEMENT)).scalars())
    if not ids:
        return None
    # This may have waited for a transaction that changed one of them or a field of the query, so they are checked
    # again.
    lock_contacts(tx, workspace.id, ids)
    held = tx.execute(text.with_for_update(read=True, key_share=True)).scalar_one_or_none()
    if held is None:
        return None
    conditions = {group_id: _membership(workspace.id, held, open_group_scope(tx, workspace))}
    _update_members(tx, workspace.id, conditions, contact.c.id.in_(ids))
    return ids[-1]


def _update_members(
    tx: Transaction, workspace_id: int, conditions: dict[int, ColumnElement[bool]], among: ColumnElement[bool]
) -> None:
    """Updates the memberships of some contacts by the conditions of groups, read in one statement."""
    columns = [condition.label(f"in_{group_id}") for group_id, condition in conditions.items()]
    found = tx.execute(select(contact.c.id, *columns).where(contact.c.workspace_id == workspace_id, among))
    matches: dict[int, list[bool]] = {contact_id: fits for contact_id, *fits in found}
    rows = group_membership.c
    held = select(rows.group_id, rows.contact_id).where(
        rows.group_id.in_(conditions), rows.contact_id.in_(list(matches))
    )
    present = {(group_id, contact_id) for group_id, contact_id in tx.execute(held)}
    for position, group_id in enumerate(conditions):
        wanted = {contact_id for contact_id, fits in matches.items() if fits[position]}
        members = {contact_id for held_group, contact_id in present if held_group == group_id}
        if wanted - members:
            add_members(tx, workspace_id, group_id, sorted(wanted - members))
        if members - wanted:
            remove_members(tx, workspace_id, group_id, sorted(members - wanted))


def _membership(workspace_id: int, text: str | None, scope: SearchScope) -> ColumnElement[bool]:
    """The condition for members; an invalid query, for example with a deleted field, has no members."""
    try:
        query = parse_query(text or "", scope.environment, scope.resolver, clock=scope.clock)
        return and_(find_matches(workspace_id, query, scope))
    except QueryError:
        return false()


LEASE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class LeasedGroup:
    """A smart group whose members this process is finding."""

    workspace_id: int
    group_id: int
    until: datetime


def lease_group(tx: Transaction) -> LeasedGroup | None:
    """Leases the oldest group that waits for its members, or whose worker died, and sets it to `evaluating`."""
    is_free = group.c.evaluated_until.is_(None) | (group.c.evaluated_until <= tx.now)
    due = (
        select(group.c.id)
        .where(group.c.status.in_((INITIALIZING, EVALUATING)), group.c.query.is_not(None), is_free)
        .order_by(group.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    taken = update(group).where(group.c.id.in_(due)).values(status=EVALUATING, evaluated_until=tx.now + LEASE)
    row = tx.execute(taken.returning(group.c.workspace_id, group.c.id)).first()
    return None if row is None else LeasedGroup(*row, tx.now + LEASE)


def evaluate_some(tx: Transaction, leased: LeasedGroup, after_id: int) -> int | None:
    """Find members of a leased group among the contacts after an id; returns the last id checked, or None at the end,
    when the group is `ready`. A group that is deleted or must be evaluated again is dropped.
    """
    mine = (group.c.workspace_id == leased.workspace_id) & (group.c.id == leased.group_id)
    held = mine & (group.c.status == EVALUATING) & (group.c.evaluated_until == leased.until)
    workspace = find_workspace(tx, leased.workspace_id)
    if workspace is None or tx.execute(select(group.c.id).where(held)).first() is None:
        return None
    last_id = refresh_some(tx, workspace, leased.group_id, after_id)
    if last_id is None:
        tx.execute(update(group).where(held).values(status=READY, evaluated_until=None))
    return last_id


def renew_group(tx: Transaction, leased: LeasedGroup) -> LeasedGroup | None:
    """Renews the lease of a group; None if it was lost."""
    mine = (group.c.workspace_id == leased.workspace_id) & (group.c.id == leased.group_id)
    held = mine & (group.c.status == EVALUATING) & (group.c.evaluated_until == leased.until)
    longer = replace(leased, until=tx.now + LEASE)
    return longer if tx.execute(update(group).where(held).values(evaluated_until=longer.until)).rowcount else None
