"""The life of a query group: `initializing`, `evaluating` under a lease, `ready`."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select, update

from persistence.database import Transaction
from persistence.groups import EVALUATING, INITIALIZING, READY, group
from persistence.smart_groups import refresh_group
from persistence.workspaces import find_workspace

LEASE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class LeasedGroup:
    """A query group whose members this process finds now."""

    workspace_id: int
    group_id: int


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
    row = tx.execute(taken.returning(group.c.workspace_id, group.c.id)).first()
    return None if row is None else LeasedGroup(row.workspace_id, row.id)


def evaluate_group(tx: Transaction, leased: LeasedGroup) -> None:
    """Find the members of a leased group and make it `ready`; again, or for a deleted group, it changes nothing."""
    mine = (group.c.workspace_id == leased.workspace_id) & (group.c.id == leased.group_id)
    done = update(group).where(mine, group.c.status == EVALUATING).values(status=READY, evaluated_until=None)
    workspace = find_workspace(tx, leased.workspace_id)
    if workspace is not None and tx.execute(done).rowcount:
        refresh_group(tx, workspace, leased.group_id)
