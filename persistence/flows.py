"""Flows: conversations that run by themselves, and what is known of each from its newest definition."""

from typing import Any

from sqlalchemy import Boolean, Column, Index, Integer, String, Table, UniqueConstraint, select

from persistence.columns import Json, id_column, metadata, name_columns, time_column, uuid_column, workspace_column
from persistence.database import Transaction

NAME_LENGTH = 64
MESSAGE, VOICE, BACKGROUND, SURVEY = "message", "voice", "background", "survey"

flow = Table(
    "flow",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    *name_columns(NAME_LENGTH),
    Column("type", String(10), nullable=False),
    Column("base_language", String(4), nullable=False, default="und"),
    Column("expires_after_minutes", Integer, nullable=False, default=0),
    Column("is_archived", Boolean, nullable=False, default=False),
    Column("ignores_triggers", Boolean, nullable=False, default=False),
    Column("definition_revision", Integer, nullable=False, default=1),
    Column("results", Json, nullable=False),
    Column("parent_refs", Json, nullable=False),
    Column("dependencies", Json, nullable=False),
    Column("issues", Json, nullable=False),
    Column("rulesets", Json, nullable=False, default=list),
    Column("active_run_count", Integer, nullable=False, default=0),
    Column("completed_run_count", Integer, nullable=False, default=0),
    Column("interrupted_run_count", Integer, nullable=False, default=0),
    Column("expired_run_count", Integer, nullable=False, default=0),
    time_column("created_on"),
    time_column("modified_on"),
    UniqueConstraint("workspace_id", "name_key"),
    Index("ix_flow_page", "workspace_id", "modified_on", "id"),
    Index("ix_flow_created", "workspace_id", "created_on", "id"),
    sqlite_autoincrement=True,
)
"""`type` is message, voice, background or survey. `results`, `parent_refs`, `dependencies` and `issues` are what
inspecting the newest revision found, `rulesets` its steps as generation 1 shows them. The counts are of runs by how
they ended; active ones have not ended."""

FLOW_REF: dict[str, Any] = {"uuid": flow.c.uuid, "name": flow.c.name}


def find_flow(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the flow with this uuid, archived or not."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == uuid.lower())
    flow_id: int | None = tx.execute(select(flow.c.id).where(mine)).scalar_one_or_none()
    return flow_id
