"""Sessions: conversations of flows with contacts; a contact has at most one waiting session."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Executable, bindparam, delete, null, select, update

from persistence.changes import note_moves
from persistence.database import Transaction
from persistence.runs.runs import INTERRUPTED, IS_OPEN, close_runs, delete_runs_of
from persistence.sessions.states import IS_WAITING, WAITING
from persistence.sql.columns import BigId, UtcDateTime, split
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.sql.index_choice import beside_index
from persistence.sql.listed_rows import ROWS, inserting, json_text
from persistence.stamps import stamped
from persistence.tables.contacts import contact
from persistence.tables.runs import flow_run, flow_session


class SessionState(NamedTuple):
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


def save_sessions(
    tx: Transaction, workspace_id: int, sessions: Sequence[SessionState], *, moves_contacts: bool = True
) -> dict[str, int]:
    """Stores new sessions and the current state of known ones, by UUID; returns the ids of those stored, by UUID. Call
    it under leases on their contacts, with one session per contact, after older ones were interrupted. A known session
    that no longer waits is not changed and not returned. Also updates the contacts' current flow, and ends the leases
    of those for whom it is another one, unless `moves_contacts` is false.
    """
    known = _lock_known(tx, workspace_id, [session.uuid for session in sessions])
    new = [session for session in sessions if session.uuid not in known]
    changed = [session for session in sessions if session.uuid in known and known[session.uuid].status == WAITING]
    made: dict[str, int] = {}
    for some in split(new):
        rows = _STORING.rows(tx, {ROWS: [_new_row(tx, workspace_id, session) for session in some]})
        made |= {uuid: session_id for session_id, uuid in rows}
    if changed:
        mine = (flow_session.c.workspace_id == workspace_id) & (flow_session.c.id == bindparam("known_id"))
        columns: dict[str, Any] = {name: bindparam(f"new_{name}") for name in changed[0].values(tx.now)}
        values = [
            {"known_id": known[session.uuid].id}
            | {f"new_{name}": value for name, value in session.values(tx.now).items()}
            for session in changed
        ]
        tx.execute(update(flow_session).where(mine).values(columns), values)
    # A new session that has ended already, for example of a background flow, does not change where the contact waits.
    if moves_contacts:
        move_contacts(tx, workspace_id, [*(one for one in new if one.status == WAITING), *changed])
    return made | {session.uuid: known[session.uuid].id for session in changed}


class _Known(NamedTuple):
    """A session that is stored."""

    id: int
    status: str


def _lock_known(tx: Transaction, workspace_id: int, uuids: Sequence[str]) -> dict[str, _Known]:
    """The sessions with these UUIDs, locked in the order of their ids."""
    found = (
        row for some in split(uuids) for row in _LOCKING_KNOWN.rows(tx, {"owner": workspace_id, "wanted": list(some)})
    )
    return {uuid: _Known(session_id, status) for session_id, uuid, status in found}


def _new_row(tx: Transaction, workspace_id: int, session: SessionState) -> dict[str, Any]:
    values = session.values(tx.now)
    return values | {
        "uuid": session.uuid,
        "workspace_id": workspace_id,
        "contact_id": session.contact_id,
        "session_type": session.session_type,
        "created_on": session.created_on,
        "state": None if values["state"] is None else json_text(values["state"]),
    }


def move_contacts(tx: Transaction, workspace_id: int, sessions: Sequence[SessionState]) -> None:
    """Updates the flow in which the contacts of sessions wait."""
    waiting: dict[int | None, list[int]] = {}
    for one in sessions:
        waiting.setdefault(one.current_flow_id if one.status == WAITING else None, []).append(one.contact_id)
    for flow_id, contact_ids in waiting.items():
        # One statement per flow, because most batches have one flow. The caller has locked the contacts, in order.
        values = {"owner": workspace_id, "flow_id": flow_id, "moment": stamped(tx, contact, workspace_id)}
        for some in split(sorted(contact_ids)):
            _MOVING.run_later(tx, values | {"theirs": list(some)})


def move_contacts_at_end(tx: Transaction, workspace_id: int, sessions: Sequence[SessionState]) -> set[int]:
    """Updates the flow in which the contacts of new sessions wait, and ends their leases, at the end of the unit of
    work, which does not read where they wait; returns these contacts."""
    moves = {one.contact_id: one.current_flow_id for one in sessions if one.status == WAITING}
    note_moves(tx, workspace_id, moves)
    return set(moves)


def _move(_is_sqlite: bool) -> Executable:
    rows = contact.c
    mine = (beside_index(rows.workspace_id) == param("owner")) & among(rows.id, "theirs")
    # Each version of a contact's row is written into all of its indexes. So the lease ends with the same one: the rows
    # stay locked up to the end of the unit of work.
    news = {"modified_on": param("moment", UtcDateTime), "handling_until": null()}
    flow_id = param("flow_id", BigId)
    return (
        update(contact)
        .where(mine, rows.current_flow_id.is_distinct_from(flow_id))
        .values(current_flow_id=flow_id, **news)
    )


def _lock_known_sessions(_is_sqlite: bool) -> Executable:
    rows = flow_session.c
    mine = (rows.workspace_id == param("owner")) & among(rows.uuid, "wanted", "UUID")
    return select(rows.id, rows.uuid, rows.status).where(mine).order_by(rows.id).with_for_update()


_STORING = inserting(
    flow_session,
    (
        *("uuid", "workspace_id", "contact_id", "session_type", "created_on", "status", "state", "current_flow_id"),
        *("sprint_count", "modified_on", "timeout_on", "expires_on", "ended_on"),
    ),
    (flow_session.c.id, flow_session.c.uuid),
    as_text=("state",),
)
_LOCKING_KNOWN, _MOVING = Fixed(_lock_known_sessions), Fixed(_move)


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
    for some in split(sorted(contact_ids)):
        found = _WAITING.rows(tx, {"owner": workspace_id, "theirs": list(some)})
        _end_sessions(tx, workspace_id, [session_id for (session_id,) in found if session_id is not None], status)
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
    for some in split(sorted(contact_ids)):
        theirs = select(flow_session.c.id).where(mine, flow_session.c.contact_id.in_(some))
        _end_sessions(tx, workspace_id, tx.execute(theirs).scalars().all(), INTERRUPTED)
    close_runs(tx, workspace_id, (flow_run.c.flow_id == flow_id) & flow_run.c.session_id.is_(None))


def _lock_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Locks contacts before other rows and in the order of ids, as workers do, to avoid deadlock."""
    for some in split(sorted(contact_ids)):
        _LOCKING_CONTACTS.run_later(tx, {"owner": workspace_id, "theirs": list(some)})


def _end_sessions(tx: Transaction, workspace_id: int, session_ids: Sequence[int], status: str) -> None:
    """Ends sessions that wait; their contacts are locked."""
    if not session_ids:
        return
    emptied = {"state": None, "current_flow_id": None, "timeout_on": None, "expires_on": None}
    mine = (flow_session.c.workspace_id == workspace_id) & flow_session.c.id.in_(session_ids)
    ending = update(flow_session).where(mine, IS_WAITING)
    ended = ending.values(status=status, modified_on=tx.now, ended_on=tx.now, **emptied)
    rows = tx.execute(ended.returning(flow_session.c.id, flow_session.c.contact_id)).all()
    if rows:
        close_runs(tx, workspace_id, flow_run.c.session_id.in_([row.id for row in rows]), status)
        left = (contact.c.workspace_id == workspace_id) & contact.c.id.in_([row.contact_id for row in rows])
        tx.execute(
            update(contact).where(left).values(current_flow_id=None, modified_on=stamped(tx, contact, workspace_id))
        )


def _find_waiting(_is_sqlite: bool) -> Executable:
    """The waiting session of each contact, or NULL. Asked for one contact at a time, because PostgreSQL would otherwise
    read all that wait in the workspace while it has no statistics of a table that has just been filled.
    """
    mine = (beside_index(contact.c.workspace_id) == param("owner")) & among(contact.c.id, "theirs")
    rows = flow_session.c
    its = (rows.workspace_id == contact.c.workspace_id) & (rows.contact_id == contact.c.id) & IS_WAITING
    return select(select(rows.id).where(its).correlate(contact).scalar_subquery()).where(mine)


def _hold_contacts(_is_sqlite: bool) -> Executable:
    mine = (beside_index(contact.c.workspace_id) == param("owner")) & among(contact.c.id, "theirs")
    return select(contact.c.id).where(mine).order_by(contact.c.id).with_for_update(key_share=True)


_WAITING, _LOCKING_CONTACTS = Fixed(_find_waiting, is_prepared=False), Fixed(_hold_contacts)


def delete_sessions_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Deletes all sessions and runs of contacts, with their answers."""
    _lock_contacts(tx, workspace_id, contact_ids)
    delete_runs_of(tx, workspace_id, contact_ids)
    theirs = (flow_session.c.workspace_id == workspace_id) & flow_session.c.contact_id.in_(contact_ids)
    tx.execute(delete(flow_session).where(theirs))
