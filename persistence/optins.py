"""Opt-ins: subjects that contacts can agree to hear about."""

from sqlalchemy import insert, select

from persistence.database import Transaction
from persistence.sql.columns import new_uuid
from persistence.sql.json_sql import as_text, declare_record
from persistence.sql.names import check_name, check_name_is_free, check_room, name_key
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.messages import optin

OPTIN_RECORD = declare_record({"uuid": optin.c.uuid, "name": optin.c.name, "created_on": optin.c.created_on})

OPTINS_ORDER = Order(optin.c.created_on, optin.c.id)


def list_optins(tx: Transaction, workspace_id: int, position: Position | None, size: int) -> Page:
    """The opt-ins of a workspace, newest first."""
    return fetch_page(
        tx,
        record=OPTIN_RECORD,
        source=optin,
        source_id=optin.c.id,
        order=OPTINS_ORDER,
        conditions=[optin.c.workspace_id == workspace_id],
        position=position,
        size=size,
    )


def read_optin(tx: Transaction, workspace_id: int, optin_id: int) -> str:
    """One opt-in record as JSON text."""
    statement = select(as_text(OPTIN_RECORD)).where(optin.c.workspace_id == workspace_id, optin.c.id == optin_id)
    return tx.execute(statement).scalar_one()


def create_optin(tx: Transaction, workspace_id: int, name: str) -> int:
    """A new opt-in; returns its id. Raises InvalidInput for a bad or taken name, LimitReached when full."""
    name = check_name(name)
    check_name_is_free(tx, workspace_id, optin, name)
    check_room(tx, workspace_id, optin)
    values = {"uuid": new_uuid(), "name": name, "name_key": name_key(name), "created_on": tx.now}
    statement = insert(optin).values(workspace_id=workspace_id, **values).returning(optin.c.id)
    return tx.execute(statement).scalar_one()
