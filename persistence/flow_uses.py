"""Which flows depend on what somebody wants to delete."""

from sqlalchemy import select

from persistence.database import Transaction
from persistence.flows import flow


def find_flow_using(tx: Transaction, workspace_id: int, kind: str, key: str) -> str | None:
    """The name of a flow, not archived, that uses the field or the global with this key."""
    columns = (flow.c.name, flow.c.dependencies)
    rows = tx.execute(select(*columns).where(flow.c.workspace_id == workspace_id, ~flow.c.is_archived))
    for name, dependencies in rows:
        if any((each["type"], each.get("key")) == (kind, key) for each in dependencies):
            found: str = name
            return found
    return None
