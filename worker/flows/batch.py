"""Runs flows for one batch: contacts of one workspace that have something due."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from persistence.contacts.leases import LEASE, ContactLeases, acquire_leases, await_contacts, put_back
from persistence.database import Transaction
from persistence.sessions.parking import park_leased
from worker.flows.runner import BatchContext, FlowRunner, OnRecorded
from worker.flows.sprints import Task, find_receiver

BATCH = 50
"""So many that a statement serves many, and so few that others do not wait long for their turn."""


class LastAttempts:
    """The one contact of this process whose work is tried for the last time. A worker that dies then has died of it:
    nobody who shared its first deaths is given up.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: datetime | None = None

    def may_begin(self, now: datetime) -> bool:
        """Whether there is none at this time."""
        with self._lock:
            return self._until is None or self._until <= now

    def begin(self, leases: ContactLeases) -> bool:
        """Whether there is none; then it is this one."""
        with self._lock:
            if self._until is not None and self._until > leases.until - LEASE:
                return False
            self._until = leases.until
            return True

    def end(self) -> None:
        with self._lock:
            self._until = None


LAST_ATTEMPTS = LastAttempts()

Find = Callable[[Transaction, int, int], Sequence[int]]
Plan = Callable[[Transaction, BatchContext, Sequence[int]], tuple[Sequence[Task], OnRecorded | None]]


def run_batch(runner: FlowRunner, workspace_id: int, kind: str, find: Find, plan: Plan) -> bool:
    """Leases contacts of a workspace, plans the work on them, performs and records it; returns whether there was any.
    `find` returns contacts that nobody has leased, most urgent first, at most so many. `plan` gets the ids of the
    leased contacts. It returns the tasks for them, and what else to do in the transaction that records them. Contacts
    whose sprint may call other systems are parked, by the `kind` of work. If somebody else is just changing all of
    them, they are due again when that has ended.
    """

    may_try_last = LAST_ATTEMPTS.may_begin(runner.database.clock())

    def take(tx: Transaction) -> tuple[Sequence[int], ContactLeases]:
        found = find(tx, workspace_id, BATCH)
        return found, acquire_leases(tx, found, may_try_last=may_try_last)

    found, leases = runner.database.write(take)
    if not leases.contact_ids:
        return bool(found) and may_try_last and await_contacts(runner.database, workspace_id, found)
    if not leases.is_last:
        return _perform(runner, workspace_id, kind, leases, plan)
    if not LAST_ATTEMPTS.begin(leases):
        runner.database.write(lambda tx: put_back(tx, leases))
        return False
    try:
        return _perform(runner, workspace_id, kind, leases, plan)
    finally:
        LAST_ATTEMPTS.end()


def _perform(runner: FlowRunner, workspace_id: int, kind: str, leases: ContactLeases, plan: Plan) -> bool:
    ids = sorted(leases.contact_ids)
    with runner.database.reading() as tx:
        context = runner.open_context(tx, workspace_id, ids)
        planned, on_recorded = plan(tx, context, ids)
    tasks = [each._replace(is_given_up=each.contact_id in leases.given_up) for each in planned]
    going = [each for each in tasks if not each.is_given_up]
    receivers = {each.contact_id: name for each in going if (name := find_receiver(context.assets, each)) is not None}
    if receivers:
        runner.database.write(lambda tx: park_leased(tx, workspace_id, kind, leases, receivers))
    rest = ContactLeases(leases.contact_ids.difference(receivers), leases.until)
    if rest.contact_ids:
        runner.perform(context, rest, [each for each in tasks if each.contact_id not in receivers], on_recorded)
    return True
