"""Flows as v2 lists them."""

from datetime import datetime

from sqlalchemy import ColumnElement, case, select

from persistence.database import Transaction
from persistence.flows.flows import BACKGROUND, MESSAGE, SURVEY, VOICE
from persistence.flows.labels import LABELS_OF_FLOW
from persistence.sql.json_sql import as_text, declare_record, json_record
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.flows import flow

SHOWN_TYPE = case((flow.c.type == BACKGROUND, MESSAGE), else_=flow.c.type)
"""The interface knows no background flows: they are message flows that never wait."""

TYPES_BEHIND = {MESSAGE: (MESSAGE, BACKGROUND), VOICE: (VOICE,), SURVEY: (SURVEY,)}
"""The types of flows that each shown type stands for."""

FLOW_RECORD = declare_record(
    {
        "uuid": flow.c.uuid,
        "name": flow.c.name,
        "type": SHOWN_TYPE,
        "archived": flow.c.is_archived,
        "labels": LABELS_OF_FLOW,
        "expires": flow.c.expires_after_minutes,
        "runs": json_record(
            {
                "active": flow.c.active_run_count,
                "completed": flow.c.completed_run_count,
                "interrupted": flow.c.interrupted_run_count,
                "expired": flow.c.expired_run_count,
            }
        ),
        "results": flow.c.results,
        "parent_refs": flow.c.parent_refs,
        "created_on": flow.c.created_on,
        "modified_on": flow.c.modified_on,
    }
)
FLOWS_ORDER = Order(flow.c.modified_on, flow.c.id)


def list_flows(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    uuid: str | None = None,
    flow_type: str | None = None,
    archived: bool | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Page:
    """The flows of a workspace by their last change, newest first; an unknown type gives an empty page."""
    conditions: list[ColumnElement[bool]] = [flow.c.workspace_id == workspace_id]
    if uuid is not None:
        conditions.append(flow.c.uuid == uuid)
    if flow_type is not None:
        conditions.append(flow.c.type.in_(TYPES_BEHIND.get(flow_type.lower(), ())))
    if archived is not None:
        conditions.append(flow.c.is_archived.is_(archived))
    if before is not None:
        conditions.append(flow.c.modified_on <= before)
    if after is not None:
        conditions.append(flow.c.modified_on >= after)
    return fetch_page(
        tx,
        record=FLOW_RECORD,
        source=flow,
        source_id=flow.c.id,
        order=FLOWS_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )


def list_all_flows(tx: Transaction, workspace_id: int) -> list[str]:
    """All flows of a workspace as JSON texts, by name."""
    tx.flush()
    statement = select(as_text(FLOW_RECORD)).where(flow.c.workspace_id == workspace_id)
    return list(tx.execute(statement.order_by(flow.c.name_key)).scalars())


def read_flow(tx: Transaction, workspace_id: int, flow_id: int) -> str:
    """One flow record as JSON text."""
    tx.flush()
    statement = select(as_text(FLOW_RECORD)).where(flow.c.workspace_id == workspace_id, flow.c.id == flow_id)
    return tx.execute(statement).scalar_one()
