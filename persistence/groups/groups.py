"""Contact groups: manual ones, smart ones with a query, and the system's own."""

from typing import Any

from sqlalchemy import ColumnElement, and_, select, update

from persistence.database import Transaction
from persistence.lists import ListSpec, contains, one_of
from persistence.new_records import NewRecord, insert_new
from persistence.sql.json_sql import declare_record
from persistence.sql.names import check_new, name_key
from persistence.sql.pages import Order
from persistence.tables.contacts import INITIALIZING, group
from persistence.workspaces import hold_workspace

OPEN_TICKETS = "Open Tickets"
FROM_BEGINNING: dict[str, Any] = {"evaluated_after_id": 0, "attempts": 0, "error": None}


GROUPS_V1 = ListSpec(
    group,
    declare_record({"group": group.c.id, "uuid": group.c.uuid, "name": group.c.name, "size": group.c.member_count}),
    Order(group.c.created_on, group.c.id),
    filters={"uuid": one_of(group.c.uuid), "name": contains(group.c.name_key)},
)


def create_system_groups(tx: Transaction, workspace_id: int) -> None:
    """Create the groups that every workspace has."""
    values = {"name": OPEN_TICKETS, "name_key": name_key(OPEN_TICKETS), "query": "tickets > 0"}
    tx.insert(group, workspace_id=workspace_id, is_system=True, created_on=tx.now, modified_on=tx.now, **values)


def new_group(tx: Transaction, workspace_id: int, name: str) -> NewRecord:
    """A manual group to be inserted. Raises InvalidInput for a bad or taken name, LimitReached at the workspace's
    limit."""
    hold_workspace(tx, workspace_id)
    naming = check_new(tx, workspace_id, group, name, counted=~group.c.is_system)
    return NewRecord(group, {"workspace_id": workspace_id, "created_on": tx.now, "modified_on": tx.now, **naming})


def create_group(tx: Transaction, workspace_id: int, name: str) -> int:
    """Create a manual group; returns its id. Raises what `new_group` raises."""
    return insert_new(tx, new_group(tx, workspace_id, name))


def renew_groups(tx: Transaction, workspace_id: int, *which: ColumnElement[bool]) -> None:
    """Lets a worker find the members of smart groups again: of all, or of those that meet conditions. Waits for
    transactions that use the old members."""
    stale = and_(group.c.workspace_id == workspace_id, group.c.query.is_not(None), *which)
    tx.execute(select(group.c.id).where(stale).order_by(group.c.id).with_for_update())
    tx.execute(update(group).where(stale).values(status=INITIALIZING, evaluated_until=None, **FROM_BEGINNING))
    tx.wake("groups")
