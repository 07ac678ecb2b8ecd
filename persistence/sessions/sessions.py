"""Sessions: conversations of flows with contacts; a contact has at most one waiting session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Integer, bindparam, delete, insert, literal, select, true, update

from persistence.database import Transaction
from persistence.runs.runs import INTERRUPTED, IS_OPEN, close_runs, delete_runs_of
from persistence.sessions.states import IS_WAITING, WAITING
from persistence.sql.columns import split
from persistence.sql.names import find_ids, lock_rows
from persistence.stamps import stamped
from persistence.tables.contacts import contact
from persistence.tables.runs import flow_run, flow_session


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session to save. `state` is kept only while it waits; `ended_on` is given once it is over."""

    uuid: str
    contact_id: int
    session_type: str
    status: str
    sprint_count: int
    created_on: datetime
    state: Mapping[str, Any] | None = None
    current_flow_id: int | None = None
    timeout_on: datetime | None = None
    expires_on: datetime | None = None
    ended_on: datetime | None = None

    def values(self, now: datetime) -> dict[str, Any]:
        """What is stored of it, whether it is new or not."""
        is_waiting = self.status == WAITING
        return {
            "status": self.status,
            "state": dict(self.state) if is_waiting and self.state is not None else None,
            "current_flow_id": self.current_flow_id if is_waiting else None,
            "sprint_count": self.sprint_count,
            "modified_on": now,
            "timeout_on": self.timeout_on if is_waiting else None,
            "expires_on": self.expires_on if is_waiting else None,
            "ended_on": self.ended_on,
        }


def save_sessions(tx: Transaction, workspace_id: int, sessions: Sequence[SessionState]) -> dict[str, int]:
    """Stores new sessions and the current state of known ones, by UUID; returns the ids of those stored, by UUID. Call
    it under leases on their contacts, with one session per contact, after older ones were interrupted. A known session
    that no longer waits is not changed and not returned. Also updates the contacts' current flow.
    """
    known = lock_rows(tx, workspace_id, flow_session, [session.uuid for session in sessions], flow_session.c.status)
    new = [session for session in sessions if session.uuid not in known]
    changed = [session for session in sessions if session.uuid in known and known[session.uuid].status == WAITING]
    if new:
        tx.execute(insert(flow_session), [_new_row(tx, workspace_id, session) for session in new])
    if changed:
        mine = (flow_session.c.workspace_id == workspace_id) & (flow_session.c.id == bindparam("known_id"))
        columns: dict[str, Any] = {name: bindparam(f"new_{name}") for name in changed[0].values(tx.now)}
        rows = [
            {"known_id": known[session.uuid].id}
            | {f"new_{name}": value for name, value in session.values(tx.now).items()}
            for session in changed
        ]
        tx.execute(update(flow_session).where(mine).values(columns), rows)
    # A new session that has ended already, for example of a background flow, does not change where the contact waits.
    _note_current_flows(tx, workspace_id, [*(one for one in new if one.status == WAITING), *changed])
    made = find_ids(tx, workspace_id, flow_session, [session.uuid for session in new])
    return made | {session.uuid: known[session.uuid].id for session in changed}


def _new_row(tx: Transaction, workspace_id: int, session: SessionState) -> dict[str, Any]:
    identity = {
        "uuid": session.uuid,
        "workspace_id": workspace_id,
        "contact_id": session.contact_id,
        "session_type": session.session_type,
        "created_on": session.created_on,
    }
    return identity | session.values(tx.now)


def _note_current_flows(tx: Transaction, workspace_id: int, sessions: Sequence[SessionState]) -> None:
    """Updates the flow in which contacts wait."""
    waiting: dict[int | None, list[int]] = {}
    for one in sessions:
        waiting.setdefault(one.current_flow_id if one.status == WAITING else None, []).append(one.contact_id)
    for flow_id, contact_ids in waiting.items():
        # One statement per flow, because most batches have one flow. The caller has locked the contacts, in order.
        for some in split(sorted(contact_ids)):
            mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(some)
            differs = contact.c.current_flow_id.is_distinct_from(literal(flow_id, Integer))
            new = {"current_flow_id": flow_id, "modified_on": stamped(tx, contact, workspace_id)}
            tx.execute(update(contact).where(mine, differs).values(new))


def interrupt_contacts(
    tx: Transaction,
    workspace_id: int,
    contact_ids: Sequence[int],
    *,
    status: str = INTERRUPTED,
    ends_leases: bool = False,
) -> None:
    """Ends the waiting sessions of these contacts, and their runs, as `interrupted` (or `expired`), without the engine.
    `ends_leases` is for requests: runs that were created ahead for these contacts end too, and a worker with a lease on
    such a contact loses it, so that the running sprint is not recorded and its cause is handled again.
    """
    _lock_contacts(tx, workspace_id, contact_ids)
    _end_sessions(tx, workspace_id, contact_ids, true(), status)
    if ends_leases:
        for some in split(contact_ids):
            made = flow_run.c.contact_id.in_(some) & flow_run.c.session_id.is_(None)
            close_runs(tx, workspace_id, made, status)
            mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(some)
            held = contact.c.handling_until.is_not(None)
            tx.execute(update(contact).where(mine, held).values(handling_until=None))


def interrupt_flow(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    """Interrupts every session with an open run in a flow, and the runs that were created ahead for it."""
    in_flow = flow_session.c.id.in_(
        select(flow_run.c.session_id).where(flow_run.c.flow_id == flow_id, IS_OPEN, flow_run.c.session_id.is_not(None))
    )
    mine = (flow_session.c.workspace_id == workspace_id) & IS_WAITING & in_flow
    contact_ids = tx.execute(select(flow_session.c.contact_id).where(mine)).scalars().all()
    _lock_contacts(tx, workspace_id, contact_ids)
    _end_sessions(tx, workspace_id, contact_ids, in_flow, INTERRUPTED)
    close_runs(tx, workspace_id, (flow_run.c.flow_id == flow_id) & flow_run.c.session_id.is_(None))


def _lock_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Locks contacts before other rows and in the order of ids, as workers do, to avoid deadlock."""
    for some in split(sorted(contact_ids)):
        mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(some)
        tx.execute(select(contact.c.id).where(mine).order_by(contact.c.id).with_for_update(key_share=True))


def _end_sessions(
    tx: Transaction, workspace_id: int, contact_ids: Sequence[int], which: ColumnElement[bool], status: str
) -> None:
    emptied = {"state": None, "current_flow_id": None, "timeout_on": None, "expires_on": None}
    for some in split(sorted(contact_ids)):
        theirs = (flow_session.c.workspace_id == workspace_id) & flow_session.c.contact_id.in_(some)
        ending = update(flow_session).where(theirs, IS_WAITING, which)
        ended = ending.values(status=status, modified_on=tx.now, ended_on=tx.now, **emptied)
        rows = tx.execute(ended.returning(flow_session.c.id, flow_session.c.contact_id)).all()
        if rows:
            close_runs(tx, workspace_id, flow_run.c.session_id.in_([row.id for row in rows]), status)
            left = (contact.c.workspace_id == workspace_id) & contact.c.id.in_([row.contact_id for row in rows])
            tx.execute(
                update(contact).where(left).values(current_flow_id=None, modified_on=stamped(tx, contact, workspace_id))
            )


def delete_sessions_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Deletes all sessions and runs of contacts, with their answers."""
    _lock_contacts(tx, workspace_id, contact_ids)
    delete_runs_of(tx, workspace_id, contact_ids)
    theirs = (flow_session.c.workspace_id == workspace_id) & flow_session.c.contact_id.in_(contact_ids)
    tx.execute(delete(flow_session).where(theirs))
