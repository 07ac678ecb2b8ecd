"""Revisions of flows: every definition that was imported or saved, the newest of which is run."""

from typing import Any

import orjson
from sqlalchemy import Column, ForeignKey, Integer, String, Table, Text, UniqueConstraint, select

from flows.definition import DefinitionError
from persistence.columns import id_column, metadata, time_column, workspace_column
from persistence.database import Transaction

flow_revision = Table(
    "flow_revision",
    metadata,
    id_column(),
    workspace_column(),
    Column("flow_id", Integer, ForeignKey("flow.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("spec_version", String(16), nullable=False),
    Column("definition", Text, nullable=False),
    time_column("created_on"),
    UniqueConstraint("flow_id", "number"),
    sqlite_autoincrement=True,
)
"""`definition` is the whole definition as JSON text, never changed once stored."""


def read_revision(tx: Transaction, workspace_id: int, flow_id: int, number: int) -> dict[str, Any]:
    """A definition. Raises DefinitionError for one that is gone or no JSON any more."""
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
