"""Opt-ins: subjects that contacts can agree to receive messages about."""

from sqlalchemy import delete

from persistence.database import Transaction
from persistence.lists import ListSpec
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.names import check_new, rename_record, require_id
from persistence.tables.messages import optin
from persistence.workspaces.records import hold_workspace

OPTIN_RECORD = Record({"uuid": optin.c.uuid, "name": optin.c.name, "created_on": optin.c.created_on})

OPTINS = ListSpec(optin, OPTIN_RECORD, Order(optin.c.created_on, optin.c.id))


def create_optin(tx: Transaction, workspace_id: int, name: str) -> int:
    """Create an opt-in; returns its id. Raises InvalidInput for a bad or taken name, LimitReached at the workspace's
    limit."""
    naming = check_new(tx, workspace_id, optin, name)
    return tx.insert(optin, workspace_id=workspace_id, created_on=tx.now, **naming)


def rename_optin(tx: Transaction, workspace_id: int, uuid: str, name: str) -> int:
    """Rename an opt-in; returns its id. Raises RecordMissing, or InvalidInput for a bad or taken name."""
    hold_workspace(tx, workspace_id)
    return rename_record(tx, workspace_id, optin, require_id(tx, workspace_id, optin, uuid), name)


def delete_optin(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete an opt-in; nothing refers to it, because flows no longer ask for opt-ins. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    optin_id = require_id(tx, workspace_id, optin, uuid)
    tx.execute(delete(optin).where(optin.c.workspace_id == workspace_id, optin.c.id == optin_id))
