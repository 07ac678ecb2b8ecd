"""Runs flows in one workspace: reads what is needed, runs the engine, records the outcomes."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from flows.clock import Clock, SystemClock
from flows.engine import Contact
from flows.environment import Environment
from persistence.contacts.leases import Claim, ContactLeases, SeenContacts
from persistence.contacts.values import environment_of
from persistence.database import Database, Transaction
from persistence.errors import DatabaseError, is_away
from persistence.sessions.contacts import load_contacts
from persistence.workspaces import Workspace, find_workspace
from worker.flows.asset_cache import AssetCache, DatabaseAssets
from worker.flows.lease_renewal import LeaseRenewal
from worker.flows.recording import FindDone, record_outcomes
from worker.flows.services.services import open_outside
from worker.flows.sprints import Outcome, SprintRunner, Task
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.worker")

OnRecorded = Callable[[Transaction, Sequence[int]], None]
Record = Callable[[Transaction, Claim, Sequence[Outcome]], list[int]]
FindClaim = Callable[[], Claim]


@dataclass(frozen=True, slots=True)
class BatchContext:
    """The data of a batch: the contacts, and the assets and formats of their workspace."""

    workspace: Workspace
    assets: DatabaseAssets
    environment: Environment
    contacts: Mapping[int, Contact] = field(default_factory=dict)


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


def _renew_nothing() -> None:
    """There are no leases."""


@dataclass(frozen=True, slots=True)
class _DatabaseClock(SystemClock):
    """A clock with the database's time, which tests can move."""

    database: Database

    def now(self) -> datetime:
        return self.database.clock()
