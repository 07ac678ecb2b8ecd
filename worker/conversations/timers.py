"""Waits that end by themselves: a timeout leads on, an expiration ends the run that waits."""

from collections.abc import Callable
from datetime import datetime

from flows.engine.events import write_moment
from persistence.contact_turns import Turns, take_turns
from persistence.database import Transaction
from persistence.waiting_sessions import WaitingSession, find_due_waits, load_waiting
from persistence.workspaces import find_workspace
from worker.conversations.sprints import Task
from worker.conversations.workshop import Workshop
from worker.services import Services

BATCH = 100


def begin_timers(services: Services) -> Callable[[], bool]:
    """The step that ends the waits of a batch of contacts of one workspace."""
    workshop = Workshop(services)

    def step() -> bool:
        workspace_id, turns = services.database.write(_take)
        if turns.contact_ids:
            _end_waits(workshop, workspace_id, turns)
        return bool(turns.contact_ids)

    return step


def _take(tx: Transaction) -> tuple[int, Turns]:
    due = find_due_waits(tx, BATCH)
    workspace_id = due[0].workspace_id if due else 0
    return workspace_id, take_turns(tx, {each.contact_id for each in due if each.workspace_id == workspace_id})


def _end_waits(workshop: Workshop, workspace_id: int, turns: Turns) -> None:
    ids = sorted(turns.contact_ids)
    with workshop.database.reading() as tx:
        workspace = find_workspace(tx, workspace_id)
        assert workspace is not None
        scene = workshop.open_scene(tx, workspace, ids)
        waiting = load_waiting(tx, workspace_id, ids)
        now = tx.now
    tasks = [_plan(contact_id, waiting.get(contact_id), now) for contact_id in ids]
    workshop.perform(scene, turns, tasks)


def _plan(contact_id: int, session: WaitingSession | None, now: datetime) -> Task:
    """What ends a wait: the timeout if both moments have come; nothing if the contact went on meanwhile."""
    kind = None
    if session is not None and session.timeout_on is not None and session.timeout_on <= now:
        kind = "wait_timeout"
    elif session is not None and session.expires_on is not None and session.expires_on <= now:
        kind = "wait_expiration"
    if session is None or kind is None:
        return Task(contact_id)
    resume = {"type": kind, "event": {"type": kind, "created_on": write_moment(now)}, "resumed_on": write_moment(now)}
    return Task(contact_id, resume=resume, session_id=session.id, state=session.state)
