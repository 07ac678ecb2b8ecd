"""Ticketers: where tickets are kept."""

from sqlalchemy import insert

from persistence.database import Transaction
from persistence.lists import ListSpec, equals, within
from persistence.sql.columns import (
    new_uuid,
)
from persistence.sql.json_sql import declare_record
from persistence.sql.names import check_name, check_name_is_free, name_key
from persistence.sql.pages import Order
from persistence.tables.tickets import ticketer

INTERNAL = "internal"
INTERNAL_NAME = "Relayboard Tickets"
TYPES = (INTERNAL, "mailgun", "zendesk", "rocketchat")

TICKETER_RECORD = declare_record(
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
    """The ticketer that every workspace has from its beginning."""
    create_ticketer(tx, workspace_id, INTERNAL_NAME, INTERNAL)


def create_ticketer(tx: Transaction, workspace_id: int, name: str, kind: str) -> int:
    """A new ticketer; returns its id. Raises InvalidInput for a bad or taken name."""
    name = check_name(name)
    check_name_is_free(tx, workspace_id, ticketer, name)
    values = {"uuid": new_uuid(), "name": name, "name_key": name_key(name), "type": kind, "created_on": tx.now}
    statement = insert(ticketer).values(workspace_id=workspace_id, **values).returning(ticketer.c.id)
    return tx.execute(statement).scalar_one()
