"""Revisions of flows: every definition that was imported or saved, the newest of which is run."""

from typing import Any

import orjson
from sqlalchemy import select

from flows.definition import DefinitionError
from persistence.database import Transaction
from persistence.tables.flows import flow_revision


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
