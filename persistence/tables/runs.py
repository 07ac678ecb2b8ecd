from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Named, String, UniqueConstraint

from persistence.policies import TO_ARCHIVE, policy
from persistence.sql.columns import (
    BigId,
    Json,
    OwnedColumns,
    RecordColumns,
    UtcDateTime,
    UuidText,
    numbered_table,
    partial_index,
)


class FlowRunColumns(RecordColumns):
    session_id: Named[int | None] = Column(BigId, ForeignKey("flow_session.id"))
    flow_id: Named[int] = Column(BigId, ForeignKey("flow.id"))
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    start_id: Named[int | None] = Column(BigId, ForeignKey("flow_start.id"))
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


flow_run = numbered_table(
    "flow_run",
    FlowRunColumns,
    Index("ix_flow_run_page", "workspace_id", "modified_on", "id"),
    Index("ix_flow_run_flow", "flow_id", "modified_on", "id"),
    Index("ix_flow_run_contact", "contact_id", "modified_on", "id"),
    Index("ix_flow_run_session", "session_id"),
    partial_index(
        "ix_flow_run_responded", "workspace_id", "modified_on", "id", where="responded", sqlite_where="responded = 1"
    ),
    partial_index("ix_flow_run_open", "flow_id", where="status IN ('active', 'waiting')"),
    partial_index("ix_flow_run_ended", "workspace_id", "exited_on", "id", where="exited_on IS NOT NULL"),
    partial_index(
        "uq_flow_run_start", "start_id", "contact_id", "workspace_id", where="start_id IS NOT NULL", unique=True
    ),
    info=policy(TO_ARCHIVE, erased="apart", copied="runs", documents=("results",), merged="apart"),
)
"""`results` and `path` are what the API shows as `values` and `path`; `visits` contains, for each step of the path,
what only generation 1 shows: {"type", "left_on", "results"}, with all results that were saved in it. Only the run
that a start creates has `start_id`, not its subflows, so that a start never creates two runs of a contact. A run
without a session was created ahead and waits for a worker."""


class FlowSessionColumns(RecordColumns):
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    session_type: Named[str] = Column(String(16))
    status: Named[str] = Column(String(11))
    state: Named[Any] = Column(Json, nullable=True)
    current_flow_id: Named[int | None] = Column(BigId, ForeignKey("flow.id"))
    sprint_count: Named[int] = Column(Integer)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)
    ended_on: Named[datetime | None] = Column(UtcDateTime)
    timeout_on: Named[datetime | None] = Column(UtcDateTime)
    expires_on: Named[datetime | None] = Column(UtcDateTime)
    counted_from: Named[datetime | None] = Column(UtcDateTime)


flow_session = numbered_table(
    "flow_session",
    FlowSessionColumns,
    partial_index("uq_flow_session_waiting", "contact_id", "workspace_id", where="status = 'waiting'", unique=True),
    partial_index("ix_flow_session_timeout", "workspace_id", "timeout_on", "id", where="status = 'waiting'"),
    partial_index("ix_flow_session_expiry", "workspace_id", "expires_on", "id", where="status = 'waiting'"),
    Index("ix_flow_session_contact", "contact_id", "created_on", "id"),
    info=policy("goes with the last of its runs", erased="apart", documents=("state",), merged="apart"),
)
"""`state` is the engine's session while it waits, null once it has ended. `current_flow_id` is the flow that waits;
the contact's row has it too. `timeout_on` and `expires_on` belong to the wait after `sprint_count` sprints, and count
from `counted_from`, or without it from `modified_on`, when the sprint was recorded (see
`persistence.sessions.sessions`)."""


class ParkedSprintColumns(OwnedColumns):
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    kind: Named[str] = Column(String(8))
    receiver: Named[str] = Column(String(36))
    batch_id: Named[int | None] = Column(BigId)
    parked_on: Named[datetime] = Column(UtcDateTime)


parked_sprint = numbered_table(
    "parked_sprint",
    ParkedSprintColumns,
    UniqueConstraint("workspace_id", "contact_id", "kind"),
    Index("ix_parked_sprint_turn", "workspace_id", "receiver", "id"),
    partial_index("ix_parked_sprint_batch", "workspace_id", "batch_id", where="batch_id IS NOT NULL"),
    info=policy(
        "goes when a worker takes its contact", erased="rows", merged="left", refers={"batch_id": "flow_start_batch"}
    ),
)
"""A contact whose sprint may call other systems and waits for a slot. `kind` is the job that found it, `receiver`
the UUID of the flow, `batch_id` the batch of a start. The due work itself is in messages, sessions and batches."""
