from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    Named,
    String,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    literal_column,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from persistence.sql.columns import (
    FOUND_BY,
    BigId,
    Json,
    LinkColumns,
    NamedRecordColumns,
    OwnedColumns,
    RecordColumns,
    UtcDateTime,
    UuidText,
    numbered_table,
    partial_index,
    table_of,
)
from persistence.tables.messages import broadcast, broadcast_contact, broadcast_group
from persistence.tables.policies import SET_UP, TO_ARCHIVE, Audited, policy

FLOW_NAME_LENGTH = 64

PENDING, QUEUED, STARTED = "pending", "queued", "started"

IS_PASSIVE = "is_passive"

UNFINISHED = (PENDING, QUEUED, STARTED)
MANUAL, API, API_V1 = "manual", "api", "api_v1"
BY_USERS = (MANUAL, API, API_V1)


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
    created_by_id: Named[int | None] = Column(Integer)
    created_on: Named[datetime] = Column(UtcDateTime)


flow_revision = numbered_table(
    "flow_revision",
    FlowRevisionColumns,
    UniqueConstraint("flow_id", "number", "workspace_id"),
    info=policy(SET_UP, refers={"created_by_id": "app_user"}),
)
"""`created_by_id` is who saved it, if that is known. `definition` is the whole definition as JSON text, never
changed once stored."""


class FlowDraftColumns(RecordColumns):
    flow_id: Named[int] = Column(BigId, ForeignKey("flow.id"))
    based_on: Named[int] = Column(Integer)
    spec_version: Named[str] = Column(String(16))
    definition: Named[str] = Column(Text)
    dependencies: Named[Any] = Column(Json, nullable=False)
    created_by_id: Named[int | None] = Column(Integer)
    created_on: Named[datetime] = Column(UtcDateTime)
    saved_on: Named[datetime] = Column(UtcDateTime)


flow_draft = numbered_table(
    "flow_draft",
    FlowDraftColumns,
    Index("ix_flow_draft_flow", "workspace_id", "flow_id", "id"),
    info=policy(SET_UP, refers={"created_by_id": "app_user"}),
)
"""Definitions that people have saved and that no contact gets, newest last. They began with the revision `based_on`.
Each save of a draft has a UUID of its own: by it a client says what it has seen. What somebody saves soon after their
own draft replaces it; `created_on` is then still the time of the first."""


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
    partial_index("ix_flow_run_open", "flow_id", "start_id", where="status IN ('active', 'waiting')"),
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


class LastNode(FunctionElement[str]):
    """The node of the last step of a run's path: where it is, or where it ended."""

    type = String()
    inherit_cache = True


class RunEnd(FunctionElement[str]):
    """How a run with this status ended, as the API tells it: failed ones were interrupted; `active` has not ended."""

    type = String()
    inherit_cache = True


@compiles(LastNode, "sqlite")
def _last_node_on_sqlite(element: LastNode, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_extract({compiler.process(element.clauses, **options)}, '$[#-1].node')"


@compiles(LastNode, "postgresql")
def _last_node_on_postgresql(element: LastNode, compiler: SQLCompiler, **options: Any) -> str:
    return f"({compiler.process(element.clauses, **options)} -> -1 ->> 'node')"


@compiles(RunEnd)
def _run_end(element: RunEnd, compiler: SQLCompiler, **options: Any) -> str:
    status = compiler.process(element.clauses, **options)
    return f"(CASE {status} WHEN 'waiting' THEN 'active' WHEN 'failed' THEN 'interrupted' ELSE {status} END)"


GOES_ON: ColumnElement[bool] = literal_column("flow_run.status IN ('active', 'waiting')")
"""As the condition of a partial index, in a text that is the same each time."""
_RUN = flow_run.c
Index("ix_flow_run_end", _RUN.flow_id, RunEnd(_RUN.status), _RUN.modified_on, _RUN.id)
partial_index(
    "ix_flow_run_node",
    *(_RUN.flow_id, LastNode(_RUN.path), _RUN.modified_on, _RUN.id),
    where="status IN ('active', 'waiting')",
)


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


class FlowCallbackColumns(OwnedColumns):
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"))
    session_uuid: Named[str] = Column(UuidText)
    number: Named[int] = Column(Integer)
    body: Named[str] = Column(Text)
    received_on: Named[datetime] = Column(UtcDateTime)


flow_callback = numbered_table(
    "flow_callback",
    FlowCallbackColumns,
    UniqueConstraint("session_uuid", "number", "workspace_id"),
    Index("ix_flow_callback_contact", "contact_id"),
    info=policy("goes when its flow goes on, or after 120 days", erased="deleted", merged="moved"),
)
"""What another system brought to a session of a flow, which has not taken it yet: to its wait for a callback with this
number. The session may have no row yet, because its first sprint is under way."""


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


class FlowStartColumns(RecordColumns):
    flow_id: Named[int] = Column(BigId, ForeignKey("flow.id"))
    status: Named[str] = Column(String(11))
    start_type: Named[str] = Column(String(11))
    restart_participants: Named[bool] = Column(Boolean, default=True)
    exclude_active: Named[bool] = Column(Boolean, default=False)
    makes_runs: Named[bool] = Column(Boolean, default=False)
    params: Named[Any] = Column(Json, nullable=True)
    parent: Named[Any] = Column(Json, nullable=True)
    query: Named[str | None] = Column(Text)
    created_by_id: Named[int | None] = Column(Integer, ForeignKey("app_user.id"))
    total: Named[int] = Column(Integer, default=-1)
    started: Named[int] = Column(Integer, default=0)
    contact_count: Named[int] = Column(Integer, default=0)
    batch_count: Named[int] = Column(Integer, default=0)
    last_contact_id: Named[int] = Column(BigId, default=0)
    is_expanded: Named[bool] = Column(Boolean, default=False)
    ends_runs_until: Named[datetime | None] = Column(UtcDateTime)
    attempts: Named[int] = Column(Integer, default=0, server_default="0")
    leased_until: Named[datetime | None] = Column(UtcDateTime)
    error: Named[str | None] = Column(Text)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


flow_start = numbered_table(
    "flow_start",
    FlowStartColumns,
    partial_index(
        "ix_flow_start_page", "workspace_id", "modified_on", "id", where="start_type IN ('manual', 'api', 'api_v1')"
    ),
    partial_index(
        "ix_flow_start_unfinished",
        "workspace_id",
        "modified_on",
        "id",
        where="status IN ('pending', 'queued', 'started')",
    ),
    Index("ix_flow_start_flow", "flow_id"),
    partial_index(
        "ix_flow_start_of_flow", "flow_id", "modified_on", "id", where="start_type IN ('manual', 'api', 'api_v1')"
    ),
    partial_index("ix_flow_start_ending", "workspace_id", "id", where="ends_runs_until IS NOT NULL"),
    info={FOUND_BY: "start_type IN ('manual', 'api', 'api_v1')"}
    | policy(
        "who was started in what, in the lists of v2",
        documents=("params", "parent"),
        queries=("query",),
        audited=Audited("flow_starts", shown=("start_type",)),
        refers={"last_contact_id": "contact"},
    ),
)
"""`parent` is data from flows, {"run_summary", "history"}, or from campaigns and tickets, {"event"}; with
"is_passive" the flow interrupts nothing. Contacts are found in the order of their ids: `last_contact_id` is the last
one checked, `contact_count` and `batch_count` are the numbers of contacts and batches so far. With `is_expanded` all
were found, and `total` is their number, -1 until then. `started` counts contacts in finished batches. With
`makes_runs` the runs are created as soon as their contacts are found. `ends_runs_until` says that somebody interrupted
its runs, and how long batches that were at work then may bring new ones."""


class FlowStartContactColumns(LinkColumns):
    start_id: Named[int] = Column(BigId, ForeignKey("flow_start.id"), primary_key=True)
    contact_id: Named[int] = Column(BigId, ForeignKey("contact.id"), primary_key=True)
    is_named: Named[bool] = Column(Boolean)


flow_start_contact = table_of(
    "flow_start_contact",
    FlowStartContactColumns,
    Index("ix_flow_start_contact_contact", "contact_id"),
    info=policy("whom a start names", erased="rows", merged="start_id"),
)
"""`is_named` distinguishes contacts in the request from those found by URN."""


class FlowStartGroupColumns(LinkColumns):
    start_id: Named[int] = Column(BigId, ForeignKey("flow_start.id"), primary_key=True)
    group_id: Named[int] = Column(BigId, ForeignKey("contact_group.id", ondelete="CASCADE"), primary_key=True)
    is_excluded: Named[bool] = Column(Boolean, default=False)


flow_start_group = table_of(
    "flow_start_group",
    FlowStartGroupColumns,
    Index("ix_flow_start_group_group", "group_id"),
    info=policy("whom a start names"),
)
"""Members of groups with `is_excluded` are left out, even if they were chosen otherwise."""


class FlowStartBatchColumns(OwnedColumns):
    start_id: Named[int] = Column(BigId, ForeignKey("flow_start.id"))
    number: Named[int] = Column(Integer)
    contact_ids: Named[Any] = Column(Json, nullable=False)
    status: Named[str] = Column(String(7), default=PENDING)
    attempts: Named[int] = Column(Integer, default=0)
    leased_until: Named[datetime | None] = Column(UtcDateTime)
    created_on: Named[datetime] = Column(UtcDateTime)


flow_start_batch = numbered_table(
    "flow_start_batch",
    FlowStartBatchColumns,
    Index("uq_flow_start_batch_number", "start_id", "number", "workspace_id", unique=True),
    partial_index("ix_flow_start_batch_due", "workspace_id", "number", "id", where="status = 'pending'"),
    info=policy("goes when its start is finished", refers={"contact_ids": "contact"}),
)
"""At most 100 contacts to start together. First batches come before second ones, so that a small start does not wait
for a large one. Batches are deleted when their start ends."""


@dataclass(frozen=True, slots=True)
class AudienceTables:
    """The tables of the audiences of broadcasts or of starts: the main table, and those that link it to contacts and
    groups. `link` is the column of both that refers to the main table.
    """

    thing: Table
    contacts: Table
    groups: Table
    link: str


OF_BROADCAST = AudienceTables(broadcast, broadcast_contact, broadcast_group, "broadcast_id")
OF_START: AudienceTables = AudienceTables(flow_start, flow_start_contact, flow_start_group, "start_id")


def is_one_of(column: ColumnElement[str], words: Sequence[str]) -> ColumnElement[bool]:
    """Whether a column has one of these values, written as literals as partial indexes need it."""
    listed: BindParameter[Any] = bindparam(None, tuple(words), expanding=True, literal_execute=True)
    return column.in_(listed)


IS_UNFINISHED = is_one_of(flow_start.c.status, UNFINISHED)
IS_BY_USER = is_one_of(flow_start.c.start_type, BY_USERS)
IS_PENDING_BATCH = is_one_of(flow_start_batch.c.status, (PENDING,))
