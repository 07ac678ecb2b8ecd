"""Flow starts: requests to start contacts in a flow, which workers carry out later in batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    bindparam,
    insert,
)

from persistence.database import Transaction
from persistence.sql.columns import (
    new_uuid,
)
from persistence.stamps import stamped
from persistence.tables.flow_starts import PENDING, QUEUED, STARTED, flow_start, flow_start_contact, flow_start_group

COMPLETED, FAILED, INTERRUPTED = "completed", "failed", "interrupted"
UNFINISHED = (PENDING, QUEUED, STARTED)

MANUAL, API, API_V1 = "manual", "api", "api_v1"
TRIGGER, CAMPAIGN, FLOW_ACTION, TICKET = "trigger", "campaign", "flow_action", "ticket"
BY_USERS = (MANUAL, API, API_V1)
DONE = "done"
WAKE = "starts"


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
