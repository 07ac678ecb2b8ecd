"""Sessions that wait: for their contacts' messages, for a timeout, for their expiration."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Executable, select, update

from persistence.database import Transaction
from persistence.runs.runs import EXPIRED, FAILED
from persistence.sessions.parking import find_free_contacts
from persistence.sessions.sessions import interrupt_contacts
from persistence.sessions.states import IS_WAITING
from persistence.sql.due_work import list_due_workspaces
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.tables.flows import flow
from persistence.tables.runs import flow_session


@dataclass(frozen=True, slots=True)
class WaitingSession:
    """A waiting session, and when its wait ends by time; `ignores_triggers` belongs to the flow in which it waits."""

    id: int
    contact_id: int
    state: Mapping[str, Any]
    ignores_triggers: bool
    timeout_on: datetime | None
    expires_on: datetime | None


def load_waiting(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, WaitingSession]:
    """The waiting sessions of contacts, by contact id; one statement."""
    found = _READING.rows(tx, {"owner": workspace_id, "theirs": contact_ids})
    return {
        contact_id: WaitingSession(session_id, contact_id, state or {}, bool(ignores), timeout_on, expires_on)
        for session_id, contact_id, state, ignores, timeout_on, expires_on in found
    }


def _read_waiting(_is_sqlite: bool) -> Executable:
    rows = flow_session.c
    columns = (rows.id, rows.contact_id, rows.state, flow.c.ignores_triggers, rows.timeout_on, rows.expires_on)
    theirs = (rows.workspace_id == param("owner")) & among(rows.contact_id, "theirs")
    return select(*columns).outerjoin(flow, flow.c.id == rows.current_flow_id).where(theirs, IS_WAITING)


_READING = Fixed(_read_waiting, is_prepared=False)


def find_waiting(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> set[int]:
    """Those of these contacts that wait in a flow; one statement."""
    theirs = (flow_session.c.workspace_id == workspace_id) & flow_session.c.contact_id.in_(contact_ids)
    return set(tx.execute(select(flow_session.c.contact_id).where(theirs, IS_WAITING)).scalars())


def lock_waiting(tx: Transaction, workspace_id: int, session_ids: Collection[int]) -> set[int]:
    """Those of these sessions that still wait, locked in the order of their ids."""
    if not session_ids:
        return set()
    mine = (flow_session.c.workspace_id == workspace_id) & flow_session.c.id.in_(sorted(session_ids)) & IS_WAITING
    return set(
        tx.execute(select(flow_session.c.id).where(mine).order_by(flow_session.c.id).with_for_update()).scalars()
    )


def list_waiting_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a session whose wait has timed out or expired."""
    owner = flow_session.c.workspace_id
    moments = (flow_session.c.timeout_on, flow_session.c.expires_on)
    due = (list_due_workspaces(tx, owner, IS_WAITING, due_on <= tx.now, due_on) for due_on in moments)
    return sorted({each for workspaces in due for each in workspaces})


def find_due_waits(tx: Transaction, workspace_id: int, limit: int) -> list[int]:
    """Contacts whose wait has timed out or expired and who are neither leased nor parked, those due longest first."""
    due: list[int] = []
    for moment in (flow_session.c.timeout_on, flow_session.c.expires_on):
        due += find_free_contacts(tx, workspace_id, flow_session, IS_WAITING, moment, limit, moment <= tx.now)
    return list(dict.fromkeys(due))[:limit]


def forget_timeouts(tx: Transaction, workspace_id: int, session_ids: Collection[int]) -> None:
    """Removes the timeouts of waiting sessions whose waits no longer have one."""
    if session_ids:
        mine = (flow_session.c.workspace_id == workspace_id) & flow_session.c.id.in_(sorted(session_ids)) & IS_WAITING
        tx.execute(update(flow_session).where(mine).values(timeout_on=None, modified_on=tx.now))


def expire_sessions(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Ends the waiting sessions of contacts, and all their runs, as `expired`, without the engine."""
    if contact_ids:
        interrupt_contacts(tx, workspace_id, contact_ids, status=EXPIRED)


def fail_sessions(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Ends the waiting sessions of contacts, and their runs, as `failed`: they cannot continue."""
    if contact_ids:
        interrupt_contacts(tx, workspace_id, contact_ids, status=FAILED)
