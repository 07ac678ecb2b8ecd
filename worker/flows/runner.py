"""Runs flows for one batch of contacts of one workspace: reads what is needed, renews their leases during long sprints,
runs the engine, records the outcomes.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from flows.engine import Contact
from flows.environment import Clock, Environment, SystemClock
from persistence.contacts.urns import environment_of
from persistence.database import Database, Transaction
from persistence.errors import DatabaseError, is_away
from persistence.flows.assets import AssetCache, DatabaseAssets
from persistence.sessions.parking import (
    LEASE,
    Claim,
    ContactLeases,
    SeenContacts,
    acquire_leases,
    await_contacts,
    park_leased,
    put_back,
    renew_leases,
)
from persistence.sessions.replies import load_contacts
from persistence.workspaces.records import Workspace, find_workspace
from worker.flows.recording import FindDone, record_outcomes
from worker.flows.services.services import open_outside
from worker.flows.sprints import Outcome, SprintRunner, Task, find_receiver
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.worker")

OnRecorded = Callable[[Transaction, Sequence[int]], None]
Record = Callable[[Transaction, Claim, Sequence[Outcome]], list[int]]
FindClaim = Callable[[], Claim]

RENEWED_AFTER = LEASE / 3
LOOK_SECONDS = LEASE.total_seconds() / 6

BATCH = 50
"""So many that a statement serves many, and so few that others do not wait long for their turn."""

Find = Callable[[Transaction, int, int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class BatchContext:
    """The data of a batch: the contacts, and the assets and formats of their workspace."""

    workspace: Workspace
    assets: DatabaseAssets
    environment: Environment
    contacts: Mapping[int, Contact] = field(default_factory=dict)


class LeaseRenewal:
    """Leases of contacts, which the threads that work with them renew before they expire."""

    def __init__(self, database: Database, leases: ContactLeases) -> None:
        self._database = database
        self._lock = threading.Lock()
        self.leases = leases

    def refresh(self) -> None:
        """Renews the leases if a third of their time is over."""
        with self._lock:
            left = self.leases.until - self._database.clock()
            if left <= LEASE - RENEWED_AFTER and left > timedelta():
                self.leases = self._database.write(lambda tx: renew_leases(tx, self.leases))


class FlowRunner:
    """Runs flows; shared by the threads of one worker process."""

    def __init__(self, runtime: Runtime, clock: Clock | None = None) -> None:
        self.runtime = runtime
        self.database: Database = runtime.database
        self.cache = AssetCache(runtime.database)
        self.clock = clock or _DatabaseClock(runtime.database)

    def open_context(self, tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> BatchContext:
        """Reads the data of a batch in a constant number of statements."""
        workspace = find_workspace(tx, workspace_id)
        assert workspace is not None, "workspaces are never deleted"
        assets = self.cache.find_assets(tx, workspace)
        return BatchContext(workspace, assets, environment_of(workspace), load_contacts(tx, workspace.id, contact_ids))

    def add_contacts(self, tx: Transaction, context: BatchContext, contact_ids: Sequence[int]) -> BatchContext:
        """The same workspace, assets and formats with these contacts."""
        return replace(context, contacts=load_contacts(tx, context.workspace.id, contact_ids))

    def perform(
        self,
        context: BatchContext,
        leases: ContactLeases,
        tasks: Sequence[Task],
        on_recorded: OnRecorded | None = None,
        renewal: LeaseRenewal | None = None,
    ) -> list[int]:
        """Runs tasks under leases and records their outcomes; returns the contacts whose lease was still held at the
        end. `on_recorded` runs in the recording transaction, with those contacts. `renewal` is given if another thread
        renews the leases too.
        """
        renewal = renewal or LeaseRenewal(self.database, leases)
        outcomes = self._run(context, tasks, renewal.refresh)

        def record(tx: Transaction, claim: Claim, some: Sequence[Outcome]) -> list[int]:
            return record_outcomes(tx, context.workspace, context.assets, claim, some)

        return self._record(record, lambda: renewal.leases, outcomes, on_recorded)

    def perform_unleased(
        self, context: BatchContext, seen: SeenContacts, tasks: Sequence[Task], find_done: FindDone
    ) -> list[int]:
        """Like `perform` for sprints that call nobody outside, of contacts that nobody has leased. Those who were
        leased or changed meanwhile are not recorded. `find_done` finds those for whom the work was done meanwhile.
        """
        outcomes = self._run(context, tasks, _renew_nothing)

        def record(tx: Transaction, claim: Claim, some: Sequence[Outcome]) -> list[int]:
            return record_outcomes(tx, context.workspace, context.assets, claim, some, find_done)

        return self._record(record, lambda: seen, outcomes, None)

    def _run(self, context: BatchContext, tasks: Sequence[Task], before_task: Callable[[], None]) -> list[Outcome]:
        outside = open_outside(self.runtime, context.workspace, before_task)
        runner = SprintRunner(
            context.assets, context.environment, self.clock, outside, before_task, self.runtime.settings.secret_key
        )
        return runner.run(tasks, context.contacts)

    def _record(
        self, record: Record, claim: FindClaim, outcomes: Sequence[Outcome], on_recorded: OnRecorded | None
    ) -> list[int]:
        """Records outcomes together, or each alone if that fails. Leases may be renewed up to then."""

        def record_all(tx: Transaction) -> list[int]:
            recorded = record(tx, claim(), outcomes)
            if on_recorded is not None:
                on_recorded(tx, recorded)
            return recorded

        try:
            return self.database.write(record_all)
        except Exception as error:
            if isinstance(error, DatabaseError) and is_away(error):
                raise  # everything is done again
            logger.exception("sprints of %d contacts could not be recorded together", len(outcomes))
        recorded = [each for outcome in outcomes for each in self._record_alone(record, claim, outcome)]
        if on_recorded is not None:
            self.database.write(lambda tx: on_recorded(tx, recorded))
        return recorded

    def _record_alone(self, record: Record, claim: FindClaim, outcome: Outcome) -> list[int]:
        """Records one outcome; if it cannot be recorded its session fails, or it would be tried forever."""
        contact_id = outcome.task.contact_id
        try:
            return self.database.write(lambda tx: record(tx, claim().only(contact_id), [outcome]))
        except Exception as error:
            if isinstance(error, DatabaseError) and is_away(error):
                raise
            logger.exception("a sprint of contact %d cannot be recorded", contact_id)
            failed = Outcome(outcome.task, refusal=f"not recorded: {type(error).__name__}", is_broken=True)
            return self.database.write(lambda tx: record(tx, claim().only(contact_id), [failed]))


@dataclass(frozen=True, slots=True)
class _DatabaseClock(SystemClock):
    """A clock with the database's time, which tests can move."""

    database: Database

    def now(self) -> datetime:
        return self.database.clock()


class LeaseKeeper:
    """Renews leases in a separate thread, because single calls may take longer than a lease."""

    def __init__(self, runtime: Runtime) -> None:
        self._database = runtime.database
        self._lock = threading.Lock()
        self._kept: set[LeaseRenewal] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
        runtime.closing.callback(self._ended.set)

    @contextlib.contextmanager
    def keep(self, leases: ContactLeases) -> Iterator[LeaseRenewal]:
        """Renews leases until the block ends."""
        renewal = LeaseRenewal(self._database, leases)
        with self._lock:
            self._kept.add(renewal)
            if not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()
        try:
            yield renewal
        finally:
            with self._lock:
                self._kept.discard(renewal)

    def _run(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            with self._lock:
                kept = list(self._kept)
            for renewal in kept:
                try:
                    renewal.refresh()
                except Exception:
                    # The database may be unavailable for a short time; the next attempt comes before the lease expires.
                    logger.warning("a lease could not be renewed", exc_info=True)


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


def _renew_nothing() -> None:
    """There are no leases."""


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
