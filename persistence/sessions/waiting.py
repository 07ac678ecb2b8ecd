"""Sessions that wait: for their contacts' messages, for a timeout, for their expiration.

Both times count from when the last message of the sprint was sent or failed: nobody can answer a question before.
They are stored as if it had been sent at once, and set anew when they come and the question had not left by then
(`count_anew`). So sending a message costs nothing more.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self

from sqlalchemy import Executable, bindparam, select, update

from persistence.database import Transaction
from persistence.messages.states import ERRORED, OUTGOING, QUEUED
from persistence.runs.runs import EXPIRED, FAILED
from persistence.sessions.parking import find_free_contacts
from persistence.sessions.sessions import interrupt_contacts
from persistence.sessions.states import IS_WAITING
from persistence.sql.columns import BigId
from persistence.sql.due_work import list_due_workspaces
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.stamps import stamped
from persistence.tables.flows import flow
from persistence.tables.messages import message
from persistence.tables.runs import flow_run, flow_session

LONGEST_PAUSE = timedelta(minutes=1)
"""How late a wait may end whose question waited for ten minutes and more, so that lost phones cost little."""


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
    found = _READING.rows(tx, {"owner": workspace_id, "theirs": contact_ids})
    return {
        contact_id: WaitingSession(
            session_id, contact_id, state or {}, bool(ignores), timeout_on, expires_on, asked_on, counted or asked_on
        )
        for session_id, contact_id, state, ignores, timeout_on, expires_on, asked_on, counted in found
    }


def _read_waiting(_is_sqlite: bool) -> Executable:
    rows = flow_session.c
    columns = (rows.id, rows.contact_id, rows.state, flow.c.ignores_triggers, rows.timeout_on, rows.expires_on)
    moments = (rows.modified_on, rows.counted_from)
    theirs = (rows.workspace_id == param("owner")) & among(rows.contact_id, "theirs")
    return select(*columns, *moments).outerjoin(flow, flow.c.id == rows.current_flow_id).where(theirs, IS_WAITING)


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


def count_anew(tx: Transaction, workspace_id: int, sessions: Sequence[WaitingSession]) -> list[WaitingSession]:
    """These sessions, whose time has come, with the times that count from when their questions had left; one statement.
    Without a message they stay as they are.
    """
    asked: dict[int, list[tuple[str, datetime]]] = {}
    ids = [each.id for each in sessions]
    for session_id, status, sent_on, modified_on in _ASKED.rows(tx, {"owner": workspace_id, "ids": ids}):
        # The clock of a phone may be ahead: nothing is sent after we heard of it.
        asked.setdefault(session_id, []).append((status, min(sent_on or modified_on, modified_on)))
    return [_count_anew(each, asked.get(each.id, ()), tx.now) for each in sessions]


def _count_anew(session: WaitingSession, asked: Sequence[tuple[str, datetime]], now: datetime) -> WaitingSession:
    if any(status in (QUEUED, ERRORED) for status, _ in asked):
        # It cannot leave before now. Where it has waited for long, it is looked at from time to time only.
        ends = [end for end in (session.timeout_on, session.expires_on) if end is not None]
        shortest = min(ends) - session.counted_from
        pause = min((now - session.asked_on) / 10, LONGEST_PAUSE)
        return session.count_from(now + max(pause - shortest, timedelta()))
    left_on = max((left_on for _, left_on in asked), default=session.counted_from)
    return session.count_from(left_on) if left_on > session.counted_from else session


def _read_asked(_is_sqlite: bool) -> Executable:
    rows, sent = flow_session.c, message.c
    its = (sent.workspace_id == rows.workspace_id) & (sent.contact_id == rows.contact_id)
    # What a sprint sends is stored by the transaction that stores its session, with the same time.
    of_sprint = its & (sent.created_on == rows.modified_on) & sent.flow_id.is_not(None)
    mine = (rows.workspace_id == param("owner")) & among(rows.id, "ids")
    columns = (rows.id, sent.status, sent.sent_on, sent.modified_on)
    return select(*columns).join(message, of_sprint).where(mine, sent.direction == OUTGOING)


_ASKED = Fixed(_read_asked, is_prepared=False)


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
