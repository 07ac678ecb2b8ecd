"""Flows as v2 lists them."""

from sqlalchemy import case

from persistence.database import Transaction
from persistence.flows.flows import BACKGROUND, MESSAGE, SURVEY, VOICE
from persistence.flows.labels import LABELS_OF_FLOW
from persistence.lists import ListQuery, ListSpec, equals, within
from persistence.sql.json_sql import declare_record, json_record
from persistence.sql.pages import Order
from persistence.tables.flows import flow
from persistence.workspaces import Workspace

SHOWN_TYPE = case((flow.c.type == BACKGROUND, MESSAGE), else_=flow.c.type)
"""The API has no background flows: it shows them as message flows."""

TYPES_BEHIND = {MESSAGE: (MESSAGE, BACKGROUND), VOICE: (VOICE,), SURVEY: (SURVEY,)}
"""The stored types of flows for each shown type."""

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

FLOWS = ListSpec(
    flow,
    FLOW_RECORD,
    Order(flow.c.modified_on, flow.c.id),
    is_followed=True,
    filters={
        "uuid": equals(flow.c.uuid),
        "type": lambda _query, word: flow.c.type.in_(TYPES_BEHIND.get(word.lower(), ())),
        "archived": lambda _query, is_archived: flow.c.is_archived.is_(is_archived),
        **within(flow.c.modified_on),
    },
)
"""An unknown type gives an empty page."""


def list_all_flows(tx: Transaction, workspace: Workspace) -> list[str]:
    """All flows of a workspace as JSON texts, by name."""
    return FLOWS.read(ListQuery(tx, workspace), order_by=[flow.c.name_key])
