"""Ticketers: where tickets are kept."""

from datetime import datetime

from sqlalchemy import insert, select

from persistence.database import Transaction
from persistence.sql.columns import (
    new_uuid,
)
from persistence.sql.json_sql import as_text, declare_record
from persistence.sql.names import check_name, check_name_is_free, name_key
from persistence.sql.pages import Order, Page, Position, fetch_page
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

TICKETERS_ORDER = Order(ticketer.c.created_on, ticketer.c.id)


def list_ticketers(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Page:
    """The ticketers of a workspace, newest first."""
    conditions = [ticketer.c.workspace_id == workspace_id]
    if uuid is not None:
        conditions.append(ticketer.c.uuid == uuid)
    if before is not None:
        conditions.append(ticketer.c.created_on <= before)
    if after is not None:
        conditions.append(ticketer.c.created_on >= after)
    return fetch_page(
        tx,
        record=TICKETER_RECORD,
        source=ticketer,
        source_id=ticketer.c.id,
        order=TICKETERS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def read_ticketer(tx: Transaction, workspace_id: int, ticketer_id: int) -> str:
    """One ticketer record as JSON text."""
    mine = (ticketer.c.workspace_id == workspace_id) & (ticketer.c.id == ticketer_id)
    return tx.execute(select(as_text(TICKETER_RECORD)).where(mine)).scalar_one()


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
