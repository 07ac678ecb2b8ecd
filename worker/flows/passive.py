"""Flows that run beside what their contacts are doing: those of passive campaign events (flow format, start modes)."""

from collections.abc import Sequence
from dataclasses import replace

from flows.engine import interrupt
from flows.engine.state import WAITING
from persistence.contacts.values import FixedClock
from persistence.database import Transaction
from persistence.sessions.waiting import find_waiting
from worker.flows.sprints import Outcome


def end_passive_waits(tx: Transaction, workspace_id: int, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """These outcomes; passive sessions of contacts who wait in another flow already end where they would wait too.

    A contact waits in one flow only. What the passive flow did until then is carried out.
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
