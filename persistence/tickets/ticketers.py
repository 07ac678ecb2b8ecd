"""Ticketers: systems that hold tickets."""

from persistence.database import Transaction
from persistence.lists import ListSpec, equals, within
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.names import free_name, rename_record, require_id
from persistence.tables.contacts import ticketer
from persistence.workspaces.records import hold_workspace

INTERNAL = "internal"
INTERNAL_NAME = "Relayboard Tickets"
TYPES = (INTERNAL, "mailgun", "zendesk", "rocketchat")

TICKETER_RECORD = Record(
    {
        "uuid": ticketer.c.uuid,
        "name": ticketer.c.name,
        "type": ticketer.c.type,
        "created_on": ticketer.c.created_on,
    }
)

TICKETERS = ListSpec(
    ticketer,
    TICKETER_RECORD,
    Order(ticketer.c.created_on, ticketer.c.id),
    filters={"uuid": equals(ticketer.c.uuid), **within(ticketer.c.created_on)},
)


def create_internal_ticketer(tx: Transaction, workspace_id: int) -> None:
    """Create the ticketer that every workspace has."""
    create_ticketer(tx, workspace_id, INTERNAL_NAME, INTERNAL)


def create_ticketer(tx: Transaction, workspace_id: int, name: str, kind: str) -> int:
    """Create a ticketer; returns its id. Raises InvalidInput for a bad or taken name."""
    naming = free_name(tx, workspace_id, ticketer, name)
    return tx.insert(ticketer, workspace_id=workspace_id, type=kind, created_on=tx.now, **naming)


def rename_ticketer(tx: Transaction, workspace_id: int, uuid: str, name: str) -> int:
    """Rename a ticketer; returns its id. Raises RecordMissing, or InvalidInput for a bad or taken name."""
    hold_workspace(tx, workspace_id)
    return rename_record(tx, workspace_id, ticketer, require_id(tx, workspace_id, ticketer, uuid), name)
