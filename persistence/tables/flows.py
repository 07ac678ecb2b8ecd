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
    Text,
    UniqueConstraint,
)

from persistence.policies import SET_UP, Audited, policy
from persistence.sql.columns import (
    BigId,
    Json,
    LinkColumns,
    NamedRecordColumns,
    OwnedColumns,
    UtcDateTime,
    numbered_table,
    partial_index,
    table_of,
)


class FlowLabelColumns(NamedRecordColumns):
    created_on: Named[datetime] = Column(UtcDateTime)


flow_label = numbered_table(
    "flow_label",
    FlowLabelColumns,
    Index("uq_flow_label_name", "workspace_id", "name_key", unique=True),
    info=policy(SET_UP),
)


class LabeledFlowColumns(LinkColumns):
    flow_id: Named[int] = Column(BigId, ForeignKey("flow.id"), primary_key=True)
    label_id: Named[int] = Column(BigId, ForeignKey("flow_label.id"), primary_key=True)


labeled_flow = table_of(
    "labeled_flow",
    LabeledFlowColumns,
    Index("ix_labeled_flow_label", "label_id"),
    info=policy(SET_UP),
)


class FlowRevisionColumns(OwnedColumns):
    flow_id: Named[int] = Column(BigId, ForeignKey("flow.id"))
    number: Named[int] = Column(Integer)
    spec_version: Named[str] = Column(String(16))
    definition: Named[str] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)


flow_revision = numbered_table(
    "flow_revision",
    FlowRevisionColumns,
    UniqueConstraint("flow_id", "number", "workspace_id"),
    info=policy(SET_UP),
)
"""`definition` is the whole definition as JSON text, never changed once stored."""

FLOW_NAME_LENGTH = 64


class FlowColumns(NamedRecordColumns):
    type: Named[str] = Column(String(10))
    base_language: Named[str] = Column(String(4), default="und")
    expires_after_minutes: Named[int] = Column(Integer, default=0)
    is_archived: Named[bool] = Column(Boolean, default=False)
    ignores_triggers: Named[bool] = Column(Boolean, default=False)
    definition_revision: Named[int] = Column(Integer, default=1)
    results: Named[Any] = Column(Json, nullable=False)
    parent_refs: Named[Any] = Column(Json, nullable=False)
    dependencies: Named[Any] = Column(Json, nullable=False)
    issues: Named[Any] = Column(Json, nullable=False)
    rulesets: Named[Any] = Column(Json, default=list, nullable=False)
    active_run_count: Named[int] = Column(Integer, default=0)
    completed_run_count: Named[int] = Column(Integer, default=0)
    interrupted_run_count: Named[int] = Column(Integer, default=0)
    expired_run_count: Named[int] = Column(Integer, default=0)
    counted_on: Named[datetime | None] = Column(UtcDateTime)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


flow = numbered_table(
    "flow",
    FlowColumns,
    UniqueConstraint("workspace_id", "name_key"),
    Index("ix_flow_page", "workspace_id", "modified_on", "id"),
    Index("ix_flow_created", "workspace_id", "created_on", "id"),
    partial_index("ix_flow_counted", "counted_on", "workspace_id", "id", where="counted_on IS NOT NULL"),
    info=policy(
        SET_UP, audited=Audited("flows", "name", ("name", "is_archived", "definition_revision", "ignores_triggers"))
    ),
)
"""`type` is message, voice, background or survey. `results`, `parent_refs`, `dependencies` and `issues` are what
inspecting the newest revision found, `rulesets` its steps as generation 1 shows them. The counts are of runs by how
they ended; active ones have not ended. `counted_on` says since when they wait for another `modified_on`."""

FLOW_REF: dict[str, Any] = {"uuid": flow.c.uuid, "name": flow.c.name}
