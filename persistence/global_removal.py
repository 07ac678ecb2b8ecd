"""Deleting globals that no flow uses."""

from persistence.database import Transaction
from persistence.errors import Refused
from persistence.flow_uses import find_flow_using
from persistence.global_values import delete_global
from persistence.workspaces import hold_workspace


def remove_global(tx: Transaction, workspace_id: int, key: str) -> None:
    """Delete a global. Raises RecordMissing, and Refused while a flow that is not archived uses it."""
    hold_workspace(tx, workspace_id)
    name = find_flow_using(tx, workspace_id, "global", key)
    if name is not None:
        raise Refused(f'The flow "{name}" uses this global.')
    delete_global(tx, workspace_id, key)
