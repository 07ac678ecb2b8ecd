"""Opt-ins: subjects that contacts can agree to hear about."""

from sqlalchemy import insert

from persistence.database import Transaction
from persistence.lists import ListSpec
from persistence.sql.columns import new_uuid
from persistence.sql.json_sql import declare_record
from persistence.sql.names import check_name, check_name_is_free, check_room, name_key
from persistence.sql.pages import Order
from persistence.tables.messages import optin

OPTIN_RECORD = declare_record({"uuid": optin.c.uuid, "name": optin.c.name, "created_on": optin.c.created_on})

OPTINS = ListSpec(optin, OPTIN_RECORD, Order(optin.c.created_on, optin.c.id))


def create_optin(tx: Transaction, workspace_id: int, name: str) -> int:
    """A new opt-in; returns its id. Raises InvalidInput for a bad or taken name, LimitReached when full."""
    name = check_name(name)
    check_name_is_free(tx, workspace_id, optin, name)
    check_room(tx, workspace_id, optin)
    values = {"uuid": new_uuid(), "name": name, "name_key": name_key(name), "created_on": tx.now}
    statement = insert(optin).values(workspace_id=workspace_id, **values).returning(optin.c.id)
    return tx.execute(statement).scalar_one()
