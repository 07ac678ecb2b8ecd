"""The life of a query group: `initializing`, `evaluating` under a lease, `ready`."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import select, update

from persistence.database import Transaction
from persistence.groups import EVALUATING, INITIALIZING, READY, group
from persistence.smart_groups import refresh_some
from persistence.workspaces import find_workspace

LEASE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class LeasedGroup:
    """A query group whose members this process finds now."""

    workspace_id: int
    group_id: int
    until: datetime


def lease_group(tx: Transaction) -> LeasedGroup | None:
    """The oldest group that waits for its members, or whose worker did not come back, as `evaluating`."""
    is_free = group.c.evaluated_until.is_(None) | (group.c.evaluated_until <= tx.now)
    due = (
        select(group.c.id)
        .where(group.c.status.in_((INITIALIZING, EVALUATING)), group.c.query.is_not(None), is_free)
        .order_by(group.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    taken = update(group).where(group.c.id.in_(due)).values(status=EVALUATING, evaluated_until=tx.now + LEASE)
    row = tx.execute(taken.returning(group.c.workspace_id, group.c.id, group.c.evaluated_until)).first()
    return None if row is None else LeasedGroup(row.workspace_id, row.id, row.evaluated_until)


def evaluate_some(tx: Transaction, leased: LeasedGroup, after_id: int) -> int | None:
    """Find members of a leased group among the contacts after an id; the last one looked at, None at the end.

    The group is `ready` then. One that is deleted, or that is to be evaluated anew, is let go.
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
    """Holds a group for longer; None when it is no longer held."""
    mine = (group.c.workspace_id == leased.workspace_id) & (group.c.id == leased.group_id)
    held = mine & (group.c.status == EVALUATING) & (group.c.evaluated_until == leased.until)
    longer = replace(leased, until=tx.now + LEASE)
    return longer if tx.execute(update(group).where(held).values(evaluated_until=longer.until)).rowcount else None
