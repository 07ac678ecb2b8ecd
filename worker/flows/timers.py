"""Waits that end by time: after a timeout the flow continues, an expiration ends the waiting run."""

from collections.abc import Callable, Sequence
from datetime import datetime

from flows.engine.events import write_moment
from persistence.database import Transaction
from persistence.sessions.waiting import WaitingSession, find_due_waits, list_waiting_workspaces, load_waiting
from worker.flows.batch import run_batch
from worker.flows.runner import BatchContext, FlowRunner
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


def plan_waits(tx: Transaction, context: BatchContext, contact_ids: Sequence[int]) -> tuple[list[Task], None]:
    waiting = load_waiting(tx, context.workspace.id, contact_ids)
    return [_plan(contact_id, waiting.get(contact_id), tx.now) for contact_id in contact_ids], None


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
