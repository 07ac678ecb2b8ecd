"""Flow starts: requests to start contacts in a flow, which workers carry out later in batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    bindparam,
    insert,
    text,
)

from persistence.columns import Json, id_column, metadata, new_uuid, time_column, uuid_column, workspace_column
from persistence.database import Transaction
from persistence.stamps import FOUND_BY, stamped

PENDING, QUEUED, STARTED = "pending", "queued", "started"
COMPLETED, FAILED, INTERRUPTED = "completed", "failed", "interrupted"
UNFINISHED = (PENDING, QUEUED, STARTED)

MANUAL, API, API_V1 = "manual", "api", "api_v1"
TRIGGER, CAMPAIGN, FLOW_ACTION, TICKET = "trigger", "campaign", "flow_action", "ticket"
BY_USERS = (MANUAL, API, API_V1)

IS_PASSIVE = "is_passive"
DONE = "done"
WAKE = "starts"

flow_start = Table(
    "flow_start",
    metadata,
    id_column(),
    uuid_column(),
    workspace_column(),
    Column("flow_id", Integer, ForeignKey("flow.id"), nullable=False),
    Column("status", String(11), nullable=False),
    Column("start_type", String(11), nullable=False),
    Column("restart_participants", Boolean, nullable=False, default=True),
    Column("exclude_active", Boolean, nullable=False, default=False),
    Column("makes_runs", Boolean, nullable=False, default=False),
    Column("params", Json),
    Column("parent", Json),
    Column("query", Text),
    Column("created_by_id", Integer, ForeignKey("app_user.id")),
    Column("total", Integer, nullable=False, default=-1),
    Column("started", Integer, nullable=False, default=0),
    Column("contact_count", Integer, nullable=False, default=0),
    Column("batch_count", Integer, nullable=False, default=0),
    Column("last_contact_id", Integer, nullable=False, default=0),
    Column("is_expanded", Boolean, nullable=False, default=False),
    time_column("created_on"),
    time_column("modified_on"),
    Index(
        "ix_flow_start_page",
        "workspace_id",
        "modified_on",
        "id",
        postgresql_where=text("start_type IN ('manual', 'api', 'api_v1')"),
        sqlite_where=text("start_type IN ('manual', 'api', 'api_v1')"),
    ),
    Index(
        "ix_flow_start_unfinished",
        "modified_on",
        "id",
        postgresql_where=text("status IN ('pending', 'queued', 'started')"),
        sqlite_where=text("status IN ('pending', 'queued', 'started')"),
    ),
    Index("ix_flow_start_flow", "flow_id"),
    sqlite_autoincrement=True,
    info={FOUND_BY: "start_type IN ('manual', 'api', 'api_v1')"},
)
"""`parent` is what flows give along, {"run_summary", "history"}, or campaigns and tickets, {"event"}; with "is_passive"
the flow interrupts nobody. Contacts are found in the order of their ids;
`last_contact_id` is the last one looked at, `contact_count` and `batch_count` say how many were taken and into how many
batches, and with `is_expanded` all were found: `total` says how many, -1 until then. `started` counts those in batches
that are done. With `makes_runs` the runs are made as soon as their contacts are found."""

flow_start_contact = Table(
    "flow_start_contact",
    metadata,
    Column("start_id", Integer, ForeignKey("flow_start.id"), primary_key=True),
    Column("contact_id", Integer, ForeignKey("contact.id"), primary_key=True),
    Column("is_named", Boolean, nullable=False),
)
"""`is_named` tells contacts that were named from those found by an address."""

flow_start_group = Table(
    "flow_start_group",
    metadata,
    Column("start_id", Integer, ForeignKey("flow_start.id"), primary_key=True),
    Column("group_id", Integer, ForeignKey("contact_group.id", ondelete="CASCADE"), primary_key=True),
    Column("is_excluded", Boolean, nullable=False, default=False),
    Index("ix_flow_start_group_group", "group_id"),
)
"""Members of groups with `is_excluded` are left out, however else they were chosen."""

flow_start_batch = Table(
    "flow_start_batch",
    metadata,
    id_column(),
    workspace_column(),
    Column("start_id", Integer, ForeignKey("flow_start.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("contact_ids", Json, nullable=False),
    Column("status", String(7), nullable=False, default=PENDING),
    Column("attempts", Integer, nullable=False, default=0),
    time_column("leased_until", nullable=True),
    time_column("created_on"),
    Index("uq_flow_start_batch_number", "start_id", "number", unique=True),
    Index(
        "ix_flow_start_batch_due",
        "number",
        "id",
        postgresql_where=text("status = 'pending'"),
        sqlite_where=text("status = 'pending'"),
    ),
    sqlite_autoincrement=True,
)
"""At most 100 contacts to start together. First batches come before second ones, so that a small start does not wait
for the end of a large one. Batches go with the end of their start."""


def is_one_of(column: ColumnElement[str], words: Sequence[str]) -> ColumnElement[bool]:
    """Whether a column has one of these words, written out as partial indexes need it."""
    listed: BindParameter[Any] = bindparam(None, tuple(words), expanding=True, literal_execute=True)
    return column.in_(listed)


IS_UNFINISHED = is_one_of(flow_start.c.status, UNFINISHED)
IS_BY_USER = is_one_of(flow_start.c.start_type, BY_USERS)


@dataclass(frozen=True, slots=True)
class NewStart:
    """A start to make: of which flow and for whom (`address_ids` are contacts that were named by an address).

    Members of `excluded_group_ids` are left out; none of them is among `group_ids`.
    """

    flow_id: int
    start_type: str
    contact_ids: Sequence[int] = ()
    address_ids: Sequence[int] = ()
    group_ids: Sequence[int] = ()
    query: str | None = None
    restart_participants: bool = True
    exclude_active: bool = False
    makes_runs: bool = False
    params: Mapping[str, Any] | None = None
    parent: Mapping[str, Any] | None = None
    created_by_id: int | None = None
    excluded_group_ids: Sequence[int] = ()


def create_start(tx: Transaction, workspace_id: int, new: NewStart) -> int:
    """Accept a start as `pending` and wake the workers that carry it out; its id."""
    values = {
        "uuid": new_uuid(),
        "flow_id": new.flow_id,
        "status": PENDING,
        "start_type": new.start_type,
        "restart_participants": new.restart_participants,
        "exclude_active": new.exclude_active,
        "makes_runs": new.makes_runs,
        "params": None if new.params is None else dict(new.params),
        "parent": None if new.parent is None else dict(new.parent),
        "query": new.query,
        "created_by_id": new.created_by_id,
        "created_on": tx.now,
        "modified_on": stamped(tx, flow_start, workspace_id),
    }
    statement = insert(flow_start).values(workspace_id=workspace_id, **values).returning(flow_start.c.id)
    start_id: int = tx.execute(statement).scalar_one()
    named = dict.fromkeys(new.address_ids, False) | dict.fromkeys(new.contact_ids, True)
    if named:
        rows = [{"start_id": start_id, "contact_id": one, "is_named": is_named} for one, is_named in named.items()]
        tx.execute(insert(flow_start_contact), rows)
    chosen = dict.fromkeys(new.group_ids, False) | dict.fromkeys(new.excluded_group_ids, True)
    if chosen:
        groups = [{"start_id": start_id, "group_id": one, "is_excluded": out} for one, out in chosen.items()]
        tx.execute(insert(flow_start_group), groups)
    tx.wake(WAKE)
    return start_id
