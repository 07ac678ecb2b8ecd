"""All jobs, by the name with which they are woken, and how often each runs without being woken."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from persistence.accounts.ages import Ages, trim_accounts
from persistence.archives.writing import archive_next_day, remove_rolled_up, roll_up_next_month, trim_archived
from persistence.broadcasts.expansion import begin_expansion, begin_next, expand_next, list_broadcasting_workspaces
from persistence.campaigns.fires import trim_fires
from persistence.campaigns.firing import begin_fires, fire_next, list_firing_workspaces
from persistence.campaigns.rescheduling import begin_pass, list_rescheduling_workspaces, run_next_pass
from persistence.channels.alarms import check_alarms, trim_alarms
from persistence.channels.gateway_calls import trim_calls
from persistence.data_jobs import remove_old_files
from persistence.database import Database, Transaction
from persistence.deletions import trim_deletions
from persistence.deliveries.records import trim_deliveries
from persistence.errors import DatabaseError, is_away, took_too_long
from persistence.flows.upkeep import list_counting_workspaces, show_counts
from persistence.groups.smart_groups import (
    LeasedGroup,
    evaluate_some,
    lease_group,
    leave_group,
    list_evaluated_workspaces,
)
from persistence.heartbeats import trim_heartbeats
from persistence.limits.idempotency import trim_answers
from persistence.limits.rate_limits import forget_windows
from persistence.media.media import finish_received
from persistence.media.opening import open_store
from persistence.messages.outgoing import fail_old_messages
from persistence.relayers.forgotten_reports import trim_forgotten
from persistence.relayers.registrations import trim_registrations
from persistence.relayers.sync import trim_syncs
from persistence.resthooks.events import trim_resthook_events
from persistence.statistics import learn_filled_tables, refresh_statistics
from persistence.triggers.schedules import begin_due, list_scheduling_workspaces, start_due
from worker.channels.sending import begin_sending
from worker.data_jobs import begin_data
from worker.flows.calls import begin_calls
from worker.flows.incoming import begin_incoming
from worker.flows.parked import begin_parked
from worker.flows.starts import begin_starts
from worker.flows.timers import begin_timers
from worker.mail import begin_mail
from worker.runtime import Runtime
from worker.turns import ListDue, begin_turns
from worker.webhooks.dispatcher import begin_webhooks

Step = Callable[[], bool]
"""Does some of the due work and returns whether more may be due at once; safe to run twice and in several processes."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `begin` creates its step for a process; up to `threads` threads run the step at the same time."""

    kind: str
    begin: Callable[[Runtime], Step]
    every_seconds: float
    threads: int = 1


Counted = tuple[Callable[..., Any], Callable[..., bool]]
"""What counts an attempt and says at what, and what does that."""


def begin_turns_of(list_due: ListDue, *works: Callable[..., bool] | Counted) -> Callable[[Runtime], Step]:
    """Returns a `begin` whose step calls these functions for the next workspace in turn, each in a transaction of
    its own."""

    def begin(runtime: Runtime) -> Step:
        def serve(workspace_id: int) -> bool:
            are_more_due = [do(runtime, workspace_id, work) for work in works]
            return any(are_more_due)

        return begin_turns(runtime, list_due, serve)

    def do(runtime: Runtime, workspace_id: int, work: Callable[..., bool] | Counted) -> bool:
        if callable(work):
            return runtime.database.write(partial(work, workspace_id=workspace_id))
        count, perform = work
        begun = runtime.database.write(partial(count, workspace_id=workspace_id))
        return begun is not None and runtime.database.write(lambda tx: perform(tx, workspace_id, begun))

    return begin


def _list_campaigning(tx: Transaction) -> list[int]:
    return sorted({*list_rescheduling_workspaces(tx), *list_firing_workspaces(tx)})


def begin_alarms(runtime: Runtime) -> Callable[[], bool]:
    """The step that opens and closes the alarms of all phones."""

    def step() -> bool:
        runtime.database.write(check_alarms)
        return False

    return step


def begin_archiving(runtime: Runtime) -> Callable[[], bool]:
    """The step that does one part of the archiving: trims a batch, or writes a day, or merges a month."""
    store = open_store(runtime.settings)
    database = runtime.database

    def step() -> bool:
        if trim_archived(database) or archive_next_day(database, store) or roll_up_next_month(database, store):
            return True
        remove_rolled_up(database, store)
        return False

    return step


def begin_expiry(runtime: Runtime) -> Callable[[], bool]:
    """The step that fails one batch of messages that are too old."""

    def step() -> bool:
        return runtime.database.write(lambda tx: fail_old_messages(tx, BATCH)) == BATCH

    return step


def begin_statistics(runtime: Runtime) -> Callable[[], bool]:
    """The step that lets SQLite know its large tables."""

    def step() -> bool:
        refresh_statistics(runtime.database)
        return False

    return step


def begin_learning(runtime: Runtime) -> Callable[[], bool]:
    """The step that lets PostgreSQL know tables that have been filled quickly."""

    def step() -> bool:
        learn_filled_tables(runtime.database)
        return False

    return step


def begin_groups(runtime: Runtime) -> Callable[[], bool]:
    """The step that evaluates a few chunks of one smart group of the workspace whose turn it is."""

    def work(workspace_id: int) -> bool:
        leased = runtime.database.write(partial(lease_group, workspace_id=workspace_id))
        if leased is None:
            return False
        held: LeasedGroup | None = leased
        for _ in range(CHUNKS_IN_TURN):
            held = None if held is None else evaluate_some(runtime.database, held)
        if held is not None:
            runtime.database.write(partial(leave_group, leased=held))
        return True

    return begin_turns(runtime, list_evaluated_workspaces, work)


def begin_trimming(runtime: Runtime) -> Callable[[], bool]:
    """The step that deletes one batch of old records of each kind, and files of incomplete uploads. What meets an error
    keeps nothing else from being done."""

    database, store = runtime.database, open_store(runtime.settings)
    ages, period = Ages.of(runtime.settings), runtime.settings.registration_limit.period

    def finish_uploads() -> bool:
        finish_received(database, store)
        return False

    def forget_limits() -> bool:
        database.write(lambda tx: forget_windows(tx, tx.now - period), may_repeat=True)
        return False

    works: list[Step] = [
        finish_uploads,
        lambda: remove_old_files(database, store, REMOVED_AT_ONCE) >= REMOVED_AT_ONCE,
        *(partial(_trim, database, trim) for trim in TRIMMERS),
        partial(_trim, database, partial(trim_accounts, ages=ages)),
        lambda: trim_calls(database, TRIMMED_AT_ONCE),
        forget_limits,
    ]

    def step() -> bool:
        is_more_due, errors = False, []
        for work in works:
            try:
                is_more_due |= work()
            except Exception as error:
                if isinstance(error, DatabaseError) and is_away(error):
                    raise
                errors.append(error)
        if errors:
            raise ExceptionGroup("some of what is old could not be deleted", errors)
        return is_more_due

    return step


begin_broadcasts = begin_turns_of(list_broadcasting_workspaces, begin_next, (begin_expansion, expand_next))
begin_campaigns = begin_turns_of(_list_campaigning, (begin_pass, run_next_pass), (begin_fires, fire_next))
begin_counts = begin_turns_of(list_counting_workspaces, show_counts)
begin_schedules = begin_turns_of(list_scheduling_workspaces, (begin_due, start_due))

JOBS = (
    Job("incoming", begin_incoming, every_seconds=2, threads=3),
    Job("parked", begin_parked, every_seconds=2),
    Job("calls", begin_calls, every_seconds=2),
    Job("timers", begin_timers, every_seconds=2),
    Job("starts", begin_starts, every_seconds=2, threads=2),
    Job("sending", begin_sending, every_seconds=2),
    Job("webhooks", begin_webhooks, every_seconds=2),
    Job("broadcasts", begin_broadcasts, every_seconds=2),
    Job("campaigns", begin_campaigns, every_seconds=5),
    Job("schedules", begin_schedules, every_seconds=5),
    Job("counts", begin_counts, every_seconds=2),
    Job("groups", begin_groups, every_seconds=10),
    Job("data", begin_data, every_seconds=5, threads=2),
    Job("mail", begin_mail, every_seconds=30),
    Job("alarms", begin_alarms, every_seconds=60),
    Job("expiry", begin_expiry, every_seconds=3600),
    Job("statistics", begin_statistics, every_seconds=3600),
    Job("learning", begin_learning, every_seconds=5),
    Job("archives", begin_archiving, every_seconds=3600),
    Job("trimming", begin_trimming, every_seconds=600),
)

CALLING = ("sending",)
"""The job that calls gateways: its step wakes a dispatcher and returns at once."""
SHARED = ("incoming", *CALLING)
"""The jobs that the process of jobs does for those who have little to do, and senders for those who have much."""
LATER = (
    "webhooks",
    "starts",
    "broadcasts",
    "campaigns",
    "counts",
    "groups",
    "data",
    "expiry",
    "statistics",
    "learning",
    "archives",
    "trimming",
)
"""The jobs that senders do alone: nobody waits for their next step. Webhooks are among them because a dispatcher has to
remember which receivers are slow."""
BEHIND = (*SHARED, *LATER)

BATCH = 1000


CHUNKS_IN_TURN = 5

Trimmer = Callable[..., int]
TRIMMERS: tuple[Trimmer, ...] = (
    trim_deliveries,
    trim_resthook_events,
    trim_fires,
    trim_answers,
    trim_syncs,
    trim_alarms,
    trim_registrations,
    trim_forgotten,
    trim_heartbeats,
    trim_deletions,
)
"""Each function deletes at most so many records that are too old, and returns how many it deleted."""


def _trim(database: Database, trim: Trimmer) -> bool:
    """Deletes a batch; a smaller one where the database is too slow for its time limit. Who deletes what is old may do
    so twice."""
    limit = TRIMMED_AT_ONCE
    while True:
        try:
            return database.write(partial(trim, limit=limit), may_repeat=True) >= limit
        except DatabaseError as error:
            if not took_too_long(error) or limit == 1:
                raise
            limit = max(limit // TIMES_SMALLER, 1)


TRIMMED_AT_ONCE = 1000
TIMES_SMALLER = 10
REMOVED_AT_ONCE = 100
