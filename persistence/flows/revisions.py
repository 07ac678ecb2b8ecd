"""Revisions of flows: every definition that was imported or saved, the newest of which is run."""

from typing import Any

import orjson
from sqlalchemy import select

from flows.definition import DefinitionError
from persistence.database import Transaction
from persistence.sql.columns import time_text
from persistence.tables.flows import flow, flow_revision

LISTED = 100


def read_revision(tx: Transaction, workspace_id: int, flow_id: int, number: int) -> dict[str, Any]:
    """A definition. Raises DefinitionError if it is missing or not JSON."""
    rows = flow_revision.c
    mine = (rows.workspace_id == workspace_id) & (rows.flow_id == flow_id) & (rows.number == number)
    text = tx.execute(select(rows.definition).where(mine)).scalar_one_or_none()
    if text is None:
        raise DefinitionError(f"revision {number} of flow {flow_id} is gone")
    try:
        definition: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DefinitionError(f"revision {number} of flow {flow_id} is no JSON") from error
    return definition


def list_revisions(tx: Transaction, workspace_id: int, flow_id: int) -> list[dict[str, Any]]:
    """The last LISTED revisions of a flow, newest first."""
    rows = flow_revision.c
    of_it = (flow.c.id == rows.flow_id) & (flow.c.workspace_id == rows.workspace_id)
    columns = (rows.number, rows.spec_version, rows.created_on, flow.c.definition_revision)
    mine = (rows.workspace_id == workspace_id) & (rows.flow_id == flow_id)
    found = select(*columns).select_from(flow_revision.join(flow, of_it)).where(mine).order_by(rows.number.desc())
    return [
        {
            "number": row.number,
            "spec_version": row.spec_version,
            "created_on": time_text(row.created_on),
            "is_current": row.number == row.definition_revision,
        }
        for row in tx.execute(found.limit(LISTED))
    ]
