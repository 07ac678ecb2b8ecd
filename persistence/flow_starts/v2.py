"""Starts as v2 shows them: the record, and the list with its filters."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, select

from persistence.audience import OF_START
from persistence.database import Transaction
from persistence.flow_starts.flow_starts import IS_BY_USER
from persistence.sql.columns import is_uuid, read_id
from persistence.sql.json_sql import as_text, declare_record, json_list, json_record
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.contacts import CONTACT_REF, GROUP_REF
from persistence.tables.flow_starts import flow_start
from persistence.tables.flows import FLOW_REF, flow

_FIELDS: dict[str, ColumnElement[Any]] = {
    "uuid": flow_start.c.uuid,
    "id": flow_start.c.id,
    "flow": json_record(FLOW_REF),
    "status": flow_start.c.status,
    "progress": json_record({"total": flow_start.c.total, "started": flow_start.c.started}),
    "groups": json_list(OF_START.list_groups(json_record(GROUP_REF))),
    "contacts": json_list(OF_START.list_contacts(json_record(CONTACT_REF))),
    "params": flow_start.c.params,
    "extra": flow_start.c.params,
    "restart_participants": flow_start.c.restart_participants,
    "exclude_active": flow_start.c.exclude_active,
    "created_on": flow_start.c.created_on,
    "modified_on": flow_start.c.modified_on,
}
START_RECORD = declare_record(_FIELDS)
SOURCE = flow_start.join(flow, flow.c.id == flow_start.c.flow_id)


def starts_order(*, reverse: bool = False) -> Order:
    return Order(flow_start.c.modified_on, flow_start.c.id, descending=not reverse)


def list_starts(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    reference: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    reverse: bool = False,
) -> Page:
    """The starts that users made, by their last change, newest first; `reference` is a uuid or the digits of an id."""
    conditions: list[ColumnElement[bool]] = [flow_start.c.workspace_id == workspace_id, IS_BY_USER]
    if uuid is not None:
        conditions.append(flow_start.c.uuid == uuid)
    if reference is not None:
        is_named = flow_start.c.uuid == reference if is_uuid(reference) else flow_start.c.id == read_id(reference)
        conditions.append(is_named)
    if before is not None:
        conditions.append(flow_start.c.modified_on <= before)
    if after is not None:
        conditions.append(flow_start.c.modified_on >= after)
    return fetch_page(
        tx,
        record=START_RECORD,
        source=SOURCE,
        source_id=flow_start.c.id,
        order=starts_order(reverse=reverse),
        conditions=conditions,
        position=position,
        size=size,
    )


def read_start(tx: Transaction, workspace_id: int, start_id: int) -> str:
    """One start's record as JSON text."""
    tx.flush()
    mine = (flow_start.c.workspace_id == workspace_id) & (flow_start.c.id == start_id)
    statement = select(as_text(START_RECORD)).select_from(SOURCE).where(mine)
    return tx.execute(statement).scalar_one()
