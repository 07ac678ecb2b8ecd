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
    bindparam,
)

from persistence.policies import Audited, policy
from persistence.sql.columns import (
    FOUND_BY,
    BigId,
    Json,
    LinkColumns,
    OwnedColumns,
    RecordColumns,
    UtcDateTime,
    numbered_table,
    partial_index,
    table_of,
)
from persistence.tables.messages import broadcast, broadcast_contact, broadcast_group

PENDING, QUEUED, STARTED = "pending", "queued", "started"

IS_PASSIVE = "is_passive"

UNFINISHED = (PENDING, QUEUED, STARTED)
MANUAL, API, API_V1 = "manual", "api", "api_v1"
BY_USERS = (MANUAL, API, API_V1)


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
`makes_runs` the runs are created as soon as their contacts are found."""


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
