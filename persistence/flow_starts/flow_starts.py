"""Flow starts: requests to start contacts in a flow, which workers perform later in batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Executable, exists, literal, select

from persistence.audience import Audience, save_audience
from persistence.audience_tables import OF_START
from persistence.database import Transaction
from persistence.sessions.states import IS_WAITING
from persistence.sql.columns import columns_for, new_uuid
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.sql.index_choice import beside_index
from persistence.stamps import stamped
from persistence.tables.contacts import ACTIVE, contact
from persistence.tables.flow_starts import PENDING, flow_start
from persistence.tables.runs import flow_run, flow_session

COMPLETED, FAILED, INTERRUPTED = "completed", "failed", "interrupted"

TRIGGER, CAMPAIGN, FLOW_ACTION, TICKET = "trigger", "campaign", "flow_action", "ticket"
DONE = "done"
WAKE = "starts"


@dataclass(frozen=True, slots=True)
class StartRow:
    """The stored data of a start that is needed to find its contacts."""

    id: int
    uuid: str
    workspace_id: int
    flow_id: int
    query: str | None
    restart_participants: bool
    exclude_active: bool
    makes_runs: bool
    contact_count: int
    batch_count: int
    last_contact_id: int
    is_expanded: bool


START_COLUMNS = columns_for(StartRow, flow_start)


@dataclass(frozen=True, slots=True)
class NewStart:
    """A start to create: its flow and its audience."""

    flow_id: int
    start_type: str
    audience: Audience
    restart_participants: bool = True
    exclude_active: bool = False
    makes_runs: bool = False
    params: Mapping[str, Any] | None = None
    parent: Mapping[str, Any] | None = None
    created_by_id: int | None = None


def create_start(tx: Transaction, workspace_id: int, new: NewStart) -> int:
    """Store a start as `pending` and wake the workers that perform it; returns its id."""
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
        "query": new.audience.query,
        "created_by_id": new.created_by_id,
        "created_on": tx.now,
        "modified_on": stamped(tx, flow_start, workspace_id),
    }
    start_id = tx.insert(flow_start, workspace_id=workspace_id, **values)
    save_audience(tx, workspace_id, OF_START, start_id, new.audience)
    tx.wake(WAKE)
    return start_id


def take_contacts(tx: Transaction, start: StartRow, ids: Sequence[int]) -> Sequence[int]:
    """Those of these contacts that are active and match the start's conditions; those who get runs at once are
    locked."""
    wishes = list_wishes(start)
    if not (wishes or start.makes_runs):
        return [one for (one,) in _ACTIVE.rows(tx, {"owner": start.workspace_id, "theirs": ids})]
    active = (contact.c.workspace_id == start.workspace_id) & (contact.c.status == ACTIVE) & ~contact.c.is_deleted
    statement = select(contact.c.id).where(active).order_by(contact.c.id)
    if ids and start.makes_runs:
        # Their runs are read after waiting for transactions that create some for them, so in a second statement.
        holding = statement.with_for_update(read=not wishes)
        ids = tx.execute(holding.where(contact.c.id.in_(ids))).scalars().all()
        if not wishes:
            return ids
    return tx.execute(statement.where(contact.c.id.in_(ids), *wishes)).scalars().all() if ids else []


def _find_active(_is_sqlite: bool) -> Executable:
    mine = (beside_index(contact.c.workspace_id) == param("owner")) & among(contact.c.id, "theirs")
    active = (contact.c.status == literal(ACTIVE, literal_execute=True)) & ~contact.c.is_deleted
    return select(contact.c.id).where(mine, active).order_by(contact.c.id)


_ACTIVE = Fixed(_find_active)


def list_wishes(start: StartRow) -> list[ColumnElement[bool]]:
    """The conditions of a start for contacts: to be in no flow, never to have been in this flow."""
    wishes: list[ColumnElement[bool]] = []
    if not start.restart_participants:
        theirs = (flow_run.c.workspace_id == start.workspace_id) & (flow_run.c.contact_id == contact.c.id)
        others = theirs & (flow_run.c.flow_id == start.flow_id) & flow_run.c.start_id.is_distinct_from(start.id)
        wishes.append(~exists(select(flow_run.c.id).where(others).correlate(contact)))
    if start.exclude_active:
        waits = select(flow_session.c.id).where(flow_session.c.contact_id == contact.c.id, IS_WAITING)
        wishes.append(~exists(waits.correlate(contact)))
    return wishes
