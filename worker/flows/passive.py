"""Flows of passive campaign events, which do not interrupt the contact's current flow (flow format, start modes)."""

from collections.abc import Sequence
from dataclasses import replace

from flows.engine import interrupt
from flows.engine.state import WAITING
from persistence.contacts.values import FixedClock
from persistence.database import Transaction
from persistence.sessions.waiting import find_waiting
from worker.flows.sprints import Outcome


def end_passive_waits(tx: Transaction, workspace_id: int, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Returns these outcomes. A passive session ends at its first wait if its contact waits in another flow, because a
    contact waits in one flow only. The events of the passive flow until then are performed.
    """
    contact_ids = [each.task.contact_id for each in outcomes if each.task.is_passive and _waits(each)]
    busy = find_waiting(tx, workspace_id, contact_ids) if contact_ids else set()
    return [
        _end(tx, each) if each.task.is_passive and _waits(each) and each.task.contact_id in busy else each
        for each in outcomes
    ]


def _waits(outcome: Outcome) -> bool:
    return outcome.session is not None and outcome.session.status == WAITING


def _end(tx: Transaction, outcome: Outcome) -> Outcome:
    assert outcome.session is not None
    session, events = interrupt(outcome.session, clock=FixedClock(tx.now))
    return replace(outcome, session=session, events=[*outcome.events, *events])
