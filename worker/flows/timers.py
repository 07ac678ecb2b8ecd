"""Waits that end by time: after a timeout the flow continues, an expiration ends the waiting run."""

from collections.abc import Callable, Sequence
from datetime import datetime

from flows.moments import write_moment
from persistence.database import Transaction
from persistence.sessions.waiting import (
    WaitingSession,
    count_anew,
    find_due_waits,
    list_waiting_workspaces,
    load_waiting,
    put_off,
)
from worker.flows.batch import run_batch
from worker.flows.runner import BatchContext, FlowRunner, OnRecorded
from worker.flows.sprints import Task
from worker.runtime import Runtime
from worker.turns import begin_turns

TIMERS = "timers"


def begin_timers(runtime: Runtime) -> Callable[[], bool]:
    """The step that ends the waits of a batch of contacts of one workspace."""
    runner = FlowRunner(runtime)
    return begin_turns(
        runtime,
        list_waiting_workspaces,
        lambda workspace_id: run_batch(runner, workspace_id, TIMERS, find_due_waits, plan_waits),
    )


def plan_waits(
    tx: Transaction, context: BatchContext, contact_ids: Sequence[int]
) -> tuple[list[Task], OnRecorded | None]:
    """Ends the waits whose time has come, and puts those off whose questions have not left for as long."""
    workspace_id, waiting = context.workspace.id, load_waiting(tx, context.workspace.id, contact_ids)
    come = [session for session in waiting.values() if session.ends_by(tx.now)]
    counted = {each.contact_id: each for each in count_anew(tx, workspace_id, come)} if come else {}
    waiting |= counted
    later = {contact_id: each for contact_id, each in counted.items() if not each.ends_by(tx.now)}

    def record(tx: Transaction, recorded: Sequence[int]) -> None:
        put_off(tx, workspace_id, [later[contact_id] for contact_id in recorded if contact_id in later])

    tasks = [_plan(contact_id, waiting.get(contact_id), tx.now) for contact_id in contact_ids]
    return tasks, record if later else None


def _plan(contact_id: int, session: WaitingSession | None, now: datetime) -> Task:
    """What ends a wait: the timeout if both times have come; nothing if the contact has continued meanwhile."""
    kind = None
    if session is not None and session.timeout_on is not None and session.timeout_on <= now:
        kind = "wait_timeout"
    elif session is not None and session.expires_on is not None and session.expires_on <= now:
        kind = "wait_expiration"
    if session is None or kind is None:
        return Task(contact_id)
    resume = {"type": kind, "event": {"type": kind, "created_on": write_moment(now)}, "resumed_on": write_moment(now)}
    return Task(contact_id, resume=resume, session_id=session.id, state=session.state)
