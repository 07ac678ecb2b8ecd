from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    Table,
    TypedColumns,
    text,
)

from persistence.sql.columns import (
    Json,
    UtcDateTime,
    UuidText,
    id_column,
    metadata,
    partial_index,
    uuid_column,
    workspace_column,
)


class FlowRunColumns(TypedColumns):
    id: Named[int] = id_column()
    uuid: Named[str] = uuid_column()
    workspace_id: Named[int] = workspace_column()
    session_id: Named[int | None] = Column(Integer, ForeignKey("flow_session.id"))
    flow_id: Named[int] = Column(Integer, ForeignKey("flow.id"))
    contact_id: Named[int] = Column(Integer, ForeignKey("contact.id"))
    start_id: Named[int | None] = Column(Integer, ForeignKey("flow_start.id"))
    parent_uuid: Named[str | None] = Column(UuidText)
    status: Named[str] = Column(String(11))
    responded: Named[bool] = Column(Boolean, default=False)
    results: Named[Any] = Column(Json, nullable=False)
    path: Named[Any] = Column(Json, nullable=False)
    visits: Named[Any] = Column(Json, nullable=False)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)
    expires_on: Named[datetime | None] = Column(UtcDateTime)
    exited_on: Named[datetime | None] = Column(UtcDateTime)


flow_run = Table(
    "flow_run",
    metadata,
    FlowRunColumns,
    Index("ix_flow_run_page", "workspace_id", "modified_on", "id"),
    Index("ix_flow_run_flow", "flow_id", "modified_on", "id"),
    Index("ix_flow_run_contact", "contact_id", "modified_on", "id"),
    Index("ix_flow_run_session", "session_id"),
    Index(
        "ix_flow_run_responded",
        "workspace_id",
        "modified_on",
        "id",
        postgresql_where=text("responded"),
        sqlite_where=text("responded = 1"),
    ),
    partial_index("ix_flow_run_open", "flow_id", where="status IN ('active', 'waiting')"),
    partial_index("ix_flow_run_ended", "workspace_id", "exited_on", "id", where="exited_on IS NOT NULL"),
    partial_index("uq_flow_run_start", "start_id", "contact_id", where="start_id IS NOT NULL", unique=True),
    sqlite_autoincrement=True,
)
"""`results` and `path` are what the API shows as `values` and `path`; `visits` holds, for each step of the path, what
only generation 1 shows: {"type", "left_on", "results"}, with all results that were saved in it. `start_id` stands only
on the run that a start made, not on those it led to, so that a start never makes two runs of a contact. A run without
session was made ahead and waits for a worker."""


class FlowSessionColumns(TypedColumns):
    id: Named[int] = id_column()
    uuid: Named[str] = uuid_column()
    workspace_id: Named[int] = workspace_column()
    contact_id: Named[int] = Column(Integer, ForeignKey("contact.id"))
    session_type: Named[str] = Column(String(16))
    status: Named[str] = Column(String(11))
    state: Named[Any] = Column(Json, nullable=True)
    current_flow_id: Named[int | None] = Column(Integer, ForeignKey("flow.id"))
    sprint_count: Named[int] = Column(Integer)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)
    ended_on: Named[datetime | None] = Column(UtcDateTime)
    timeout_on: Named[datetime | None] = Column(UtcDateTime)
    expires_on: Named[datetime | None] = Column(UtcDateTime)


flow_session = Table(
    "flow_session",
    metadata,
    FlowSessionColumns,
    partial_index("uq_flow_session_waiting", "contact_id", where="status = 'waiting'", unique=True),
    partial_index("ix_flow_session_timeout", "timeout_on", "id", where="status = 'waiting'"),
    partial_index("ix_flow_session_expiry", "expires_on", "id", where="status = 'waiting'"),
    Index("ix_flow_session_contact", "contact_id", "created_on", "id"),
    sqlite_autoincrement=True,
)
"""`state` is the engine's session while it waits, null once it is over. `current_flow_id` is the flow that waits, which
the contact's row repeats. `timeout_on` and `expires_on` belong to the wait after `sprint_count` sprints."""
