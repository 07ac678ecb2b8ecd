"""Sessions: conversations of flows with contacts, of which a contact has at most one that waits: for the contact's
message, for a timeout, for its expiration.

Timeout and expiration count from when the last message of the sprint was sent or failed: nobody can answer a question
before. They are stored as if it had been sent at once, and set anew when they come and the question had not left by
then (`count_anew`). So sending a message costs nothing more. A wait until a moment counts from that moment.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Self

from sqlalchemy import Executable, bindparam, delete, exists, select

from persistence.changes import change_contacts, differs
from persistence.database import Transaction
from persistence.leases import beside_index, list_due_workspaces
from persistence.runs.runs import EXPIRED, FAILED, INTERRUPTED, IS_OPEN, close_runs, delete_runs_of
from persistence.sessions.parking import IS_WAITING, WAITING, find_free_contacts, lock_rows
from persistence.sql.columns import BigId, split
from persistence.stamps import changes_of, stamped
from persistence.statements import among, insert_rows, json_text, statement, update
from persistence.tables.contacts import contact
from persistence.tables.flows import flow, flow_run, flow_session
from persistence.tables.messages import ERRORED, OUTGOING, QUEUED, message

_insert_sessions = insert_rows(
    flow_session,
    (
        *("uuid", "workspace_id", "contact_id", "session_type", "created_on", "status", "state", "current_flow_id"),
        *("sprint_count", "modified_on", "timeout_on", "expires_on", "ended_on", "counted_from"),
    ),
    (flow_session.c.id, flow_session.c.uuid),
    as_text=("state",),
)

LONGEST_PAUSE = timedelta(minutes=1)
"""How late a wait may end whose question waited for ten minutes and more, so that lost phones cost little."""

_COMES_INTO_FLOW, _IS_LEASED = differs(contact.c.current_flow_id), contact.c.handling_until.is_not(None)


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
    counted_from: datetime | None = None

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
            "counted_from": self.counted_from if is_waiting else None,
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
        rows = _insert_sessions.rows(tx, [_new_row(tx, workspace_id, session) for session in some])
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


def move_contacts(tx: Transaction, workspace_id: int, sessions: Sequence[SessionState]) -> None:
    """Updates the flow in which the contacts of sessions wait."""
    waiting: dict[int | None, list[int]] = {}
    for one in sessions:
        waiting.setdefault(one.current_flow_id if one.status == WAITING else None, []).append(one.contact_id)
    for flow_id, contact_ids in waiting.items():
        # One statement per flow, because most batches have one flow. The caller has locked the contacts, in order.
        # Each version of a contact's row is written into all of its indexes. So the lease ends with the same one: the
        # rows stay locked up to the end of the unit of work.
        news = {"current_flow_id": flow_id, "handling_until": None}
        change_contacts(tx, workspace_id, contact_ids, news, only=_COMES_INTO_FLOW)


def move_contacts_at_end(tx: Transaction, workspace_id: int, sessions: Sequence[SessionState]) -> set[int]:
    """Updates the flow in which the contacts of new sessions wait, and ends their leases, at the end of the unit of
    work, which does not read where they wait; returns these contacts."""
    moves = {one.contact_id: one.current_flow_id for one in sessions if one.status == WAITING}
    if moves:
        changes_of(tx, workspace_id).moves.update(moves)
    return set(moves)


@statement
def _lock_sessions(workspace_id: int, uuids: Sequence[str]) -> Executable:
    rows = flow_session.c
    mine = (rows.workspace_id == workspace_id) & among(rows.uuid, uuids, "UUID")
    return select(rows.id, rows.uuid, rows.status).where(mine).order_by(rows.id).with_for_update()


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
        found = _find_waiting.rows(tx, workspace_id, some)
        _end_sessions(tx, workspace_id, [session_id for (session_id,) in found if session_id is not None], status)
    if ends_leases:
        for some in split(contact_ids):
            made = flow_run.c.contact_id.in_(some) & flow_run.c.session_id.is_(None)
            close_runs(tx, workspace_id, made, status)
            change_contacts(tx, workspace_id, some, {"handling_until": None}, only=_IS_LEASED)


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


def interrupt_runs_of_start(tx: Transaction, workspace_id: int, flow_id: int, start_id: int, limit: int) -> None:
    """Interrupts up to `limit` sessions with an open run of a start, and the runs that were created ahead for it. A
    sprint of theirs that is under way is not recorded."""
    runs = flow_run.c
    its_runs = (runs.workspace_id == workspace_id) & (runs.flow_id == flow_id) & (runs.start_id == start_id) & IS_OPEN
    of_run = (flow_session.c.workspace_id == workspace_id) & (flow_session.c.id == runs.session_id) & IS_WAITING
    waiting = select(flow_session.c.contact_id).join(flow_run, of_run).where(its_runs)
    contact_ids = sorted(tx.execute(waiting.limit(limit)).scalars())
    _lock_contacts(tx, workspace_id, contact_ids)
    for some in split(contact_ids):
        theirs = select(flow_session.c.id).join(flow_run, of_run).where(its_runs, runs.contact_id.in_(some))
        _end_sessions(tx, workspace_id, tx.execute(theirs).scalars().all(), INTERRUPTED)
        change_contacts(tx, workspace_id, some, {"handling_until": None}, only=_IS_LEASED)
    close_runs(tx, workspace_id, its_runs & ~exists(select(flow_session.c.id).where(of_run).correlate(flow_run)))


@statement(is_prepared=False)
def _find_waiting(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    """The waiting session of each contact, or NULL. Asked for one contact at a time, because PostgreSQL would otherwise
    read all that wait in the workspace while it has no statistics of a table that has just been filled.
    """
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, contact_ids)
    rows = flow_session.c
    its = (rows.workspace_id == contact.c.workspace_id) & (rows.contact_id == contact.c.id) & IS_WAITING
    return select(select(rows.id).where(its).correlate(contact).scalar_subquery()).where(mine)


def delete_sessions_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Deletes all sessions and runs of contacts, with their answers."""
    _lock_contacts(tx, workspace_id, contact_ids)
    delete_runs_of(tx, workspace_id, contact_ids)
    theirs = (flow_session.c.workspace_id == workspace_id) & flow_session.c.contact_id.in_(contact_ids)
    tx.execute(delete(flow_session).where(theirs))


@dataclass(frozen=True, slots=True)
class WaitingSession:
    """A waiting session, and when its wait ends by time, counted from `counted_from`; `asked_on` is when the sprint
    before the wait was recorded. `ignores_triggers` belongs to the flow in which it waits.
    """

    id: int
    contact_id: int
    state: Mapping[str, Any]
    ignores_triggers: bool
    timeout_on: datetime | None
    expires_on: datetime | None
    asked_on: datetime
    counted_from: datetime

    def count_from(self, moment: datetime) -> Self:
        """The same wait, counted from another moment."""
        later = moment - self.counted_from
        timeout_on = None if self.timeout_on is None else self.timeout_on + later
        expires_on = None if self.expires_on is None else self.expires_on + later
        return replace(self, timeout_on=timeout_on, expires_on=expires_on, counted_from=moment)

    def ends_by(self, moment: datetime) -> bool:
        """Whether the wait times out or expires by then."""
        return any(end is not None and end <= moment for end in (self.timeout_on, self.expires_on))


def load_waiting(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, WaitingSession]:
    """The waiting sessions of contacts, by contact id; one statement."""
    found = _select_waiting.rows(tx, workspace_id, contact_ids)
    return {
        contact_id: WaitingSession(
            session_id, contact_id, state or {}, bool(ignores), timeout_on, expires_on, asked_on, counted or asked_on
        )
        for session_id, contact_id, state, ignores, timeout_on, expires_on, asked_on, counted in found
    }


@statement(is_prepared=False)
def _select_waiting(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    rows = flow_session.c
    columns = (rows.id, rows.contact_id, rows.state, flow.c.ignores_triggers, rows.timeout_on, rows.expires_on)
    moments = (rows.modified_on, rows.counted_from)
    theirs = (rows.workspace_id == workspace_id) & among(rows.contact_id, contact_ids)
    return select(*columns, *moments).outerjoin(flow, flow.c.id == rows.current_flow_id).where(theirs, IS_WAITING)


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


def count_anew(tx: Transaction, workspace_id: int, sessions: Sequence[WaitingSession]) -> list[WaitingSession]:
    """These sessions, whose time has come, with the times that count from when their questions had left; one statement.
    Without a message they stay as they are.
    """
    asked: dict[int, list[tuple[str, datetime]]] = {}
    ids = [each.id for each in sessions]
    for session_id, status, sent_on, modified_on in _select_questions.rows(tx, workspace_id, ids):
        # The clock of a phone may be ahead: nothing is sent after we heard of it.
        asked.setdefault(session_id, []).append((status, min(sent_on or modified_on, modified_on)))
    return [_count_anew(each, asked.get(each.id, ()), tx.now) for each in sessions]


@statement(is_prepared=False)
def _select_questions(workspace_id: int, session_ids: Sequence[int]) -> Executable:
    rows, sent = flow_session.c, message.c
    its = (sent.workspace_id == rows.workspace_id) & (sent.contact_id == rows.contact_id)
    # What a sprint sends is stored by the transaction that stores its session, with the same time.
    of_sprint = its & (sent.created_on == rows.modified_on) & sent.flow_id.is_not(None)
    mine = (rows.workspace_id == workspace_id) & among(rows.id, session_ids)
    columns = (rows.id, sent.status, sent.sent_on, sent.modified_on)
    return select(*columns).join(message, of_sprint).where(mine, sent.direction == OUTGOING)


def put_off(tx: Transaction, workspace_id: int, sessions: Sequence[WaitingSession]) -> None:
    """Stores the new times of waits that go on, also those that runs show; two statements."""
    if not sessions:
        return
    values = [
        {
            "its_id": each.id,
            "its": each.asked_on,
            "from": each.counted_from,
            "out": each.timeout_on,
            "end": each.expires_on,
        }
        for each in sorted(sessions, key=lambda each: each.id)
    ]
    rows, runs, its_id = flow_session.c, flow_run.c, bindparam("its_id", type_=BigId)
    mine = (rows.workspace_id == workspace_id) & (rows.id == its_id) & (rows.modified_on == bindparam("its"))
    news: dict[str, Any] = {
        "counted_from": bindparam("from"),
        "timeout_on": bindparam("out"),
        "expires_on": bindparam("end"),
    }
    tx.execute(update(flow_session).where(mine, IS_WAITING).values(news), values)
    moment = stamped(tx, flow_run, workspace_id)
    open_runs = (runs.workspace_id == workspace_id) & (runs.session_id == its_id) & runs.exited_on.is_(None)
    moved = {"expires_on": bindparam("end"), "modified_on": moment}
    showing = update(flow_run).where(open_runs, runs.expires_on.is_not(None)).values(moved)
    tx.execute(showing, [{"its_id": each["its_id"], "end": each["end"]} for each in values])


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


def _lock_known(tx: Transaction, workspace_id: int, uuids: Sequence[str]) -> dict[str, _Known]:
    """The sessions with these UUIDs, locked in the order of their ids."""
    found = (row for some in split(uuids) for row in _lock_sessions.rows(tx, workspace_id, some))
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


def _lock_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Locks contacts before other rows and in the order of ids, as workers do, to avoid deadlock."""
    for some in split(sorted(contact_ids)):
        lock_rows.run(tx, workspace_id, some)


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
        change_contacts(tx, workspace_id, [row.contact_id for row in rows], {"current_flow_id": None})


def _count_anew(session: WaitingSession, asked: Sequence[tuple[str, datetime]], now: datetime) -> WaitingSession:
    if any(status in (QUEUED, ERRORED) for status, _ in asked):
        # It cannot leave before now. Where it has waited for long, it is looked at from time to time only.
        ends = [end for end in (session.timeout_on, session.expires_on) if end is not None]
        shortest = min(ends) - session.counted_from
        pause = min((now - session.asked_on) / 10, LONGEST_PAUSE)
        return session.count_from(now + max(pause - shortest, timedelta()))
    left_on = max((left_on for _, left_on in asked), default=session.counted_from)
    return session.count_from(left_on) if left_on > session.counted_from else session
