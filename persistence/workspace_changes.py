"""Changes the properties of a workspace, with what depends on them."""

from typing import Any

from sqlalchemy import update

from persistence.campaigns.rescheduling import request_passes
from persistence.database import Transaction
from persistence.groups.groups import renew_groups
from persistence.sql.names import check_name
from persistence.tables.accounts import WORKSPACE_NAME_LENGTH, workspace
from persistence.workspaces import Workspace, find_workspace, hold_workspace

READ_BY = ("timezone", "date_style")
"""What dates in fields of contacts are read and compared with."""


def change_workspace(tx: Transaction, present: Workspace, changes: dict[str, Any]) -> Workspace:
    """Change columns of a workspace. With another time zone or date style, workers find the members of smart groups and
    the times of campaigns again; the next time of a schedule stays. Raises InvalidInput for an invalid name.
    """
    hold_workspace(tx, present.id)
    values = dict(changes)
    if "name" in values:
        values["name"] = check_name(values["name"], length=WORKSPACE_NAME_LENGTH)
    if values:
        tx.execute(update(workspace).where(workspace.c.id == present.id).values(**values))
    if any(name in values and values[name] != getattr(present, name) for name in READ_BY):
        renew_groups(tx, present.id)
        request_passes(tx, present.id)
    changed = find_workspace(tx, present.id)
    assert changed is not None
    return changed
