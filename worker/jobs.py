"""All jobs, by the name with which they are woken, how often each runs without being woken, and the pool that runs them
in one process.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from flows.engine.services import ServiceError
from persistence.accounts.accounts import Ages, trim_accounts
from persistence.accounts.invitations import claim_letter, finish_letter, postpone_letter, read_letter
from persistence.accounts.reminders import list_reminded_workspaces, remind
from persistence.accounts.signing_in import Writing, write_letter
from persistence.archives.writing import archive_next_day, remove_rolled_up, roll_up_next_month, trim_archived
from persistence.broadcasts.expansion import begin_expansion, expand_next, list_broadcasting_workspaces
from persistence.broadcasts.schedules import begin_next
from persistence.campaigns.fires import begin_pass, list_rescheduling_workspaces, run_next_pass, trim_fires
from persistence.campaigns.firing import begin_fires, fire_next, list_firing_workspaces
from persistence.channels.connections import trim_pieces
from persistence.channels.gateway_parts import trim_parts
from persistence.channels.health import check_alarms, trim_alarms, trim_calls
from persistence.channels.outages import check_outages
from persistence.conversations import list_returning_workspaces, return_due
from persistence.data_jobs import Performer, list_data_workspaces, remove_old_files, take_next
from persistence.database import Database, Transaction
from persistence.deletions import trim_deletions
from persistence.deliveries.records import trim_deliveries
from persistence.errors import DatabaseError, is_away, is_temporary, reason_of, took_too_long
from persistence.flows.records import interrupt_archived, list_counting_workspaces, show_counts
from persistence.groups.smart_groups import (
    LeasedGroup,
    evaluate_some,
    lease_group,
    leave_group,
    list_evaluated_workspaces,
)
from persistence.leases import Share
from persistence.media.store import finish_received, open_store
from persistence.messages.actions import fail_old_messages
from persistence.relayers.relayers import trim_registrations
from persistence.relayers.reports import trim_forgotten
from persistence.relayers.sync import trim_syncs
from persistence.resthooks import trim_resthook_events
from persistence.service.diagnosis import trim_heartbeats
from persistence.sessions.parking import trim_callbacks
from persistence.sql.statistics import learn_filled_tables, refresh_statistics
from persistence.tokens import forget_windows, trim_answers
from persistence.triggers.schedules import begin_due, list_scheduling_workspaces, start_due
from relayboard.base.tracing import Causes, caused_by, causes, join_causes, step_span
from worker.channels.checks import begin_checks
from worker.channels.email import begin_email
from worker.channels.files import begin_files
from worker.channels.sending import begin_sending
from worker.channels.smpp import begin_smpp
from worker.channels.templates import begin_templates
from worker.fairness import ListDue, begin_turns
from worker.flows.incoming import begin_calls, begin_incoming
from worker.flows.parked import begin_parked
from worker.flows.services.email import FlowEmail
from worker.flows.starts import begin_starts, begin_timers
from worker.metrics import letters, measuring_step
from worker.push.pushing import begin_pushes
from worker.runtime import Runtime
from worker.webhooks.dispatcher import begin_webhooks

Step = Callable[[], bool]
"""Does some of the due work and returns whether more may be due at once; safe to run twice and in several processes."""

Counted = tuple[Callable[..., Any], Callable[..., bool]]
"""What counts an attempt and says at what, and what does that."""

CALLING = ("sending",)
"""The job that calls gateways: its step wakes a dispatcher and returns at once."""
SHARED = ("incoming", *CALLING)
"""The jobs that the process of jobs does for those who have little to do, and senders for those who have much."""
LATER = (
    "webhooks",
    "pushes",
    "starts",
    "broadcasts",
    "campaigns",
    "snoozes",
    "counts",
    "groups",
    "data",
    "expiry",
    "statistics",
    "learning",
    "archives",
    "trimming",
)
"""The jobs that senders do alone: nobody waits for their next step. Webhooks and pushes are among them because a
dispatcher has to remember which receivers are slow."""
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
    trim_parts,
    trim_registrations,
    trim_forgotten,
    trim_pieces,
    trim_heartbeats,
    trim_deletions,
    trim_callbacks,
)
"""Each function deletes at most so many records that are too old, and returns how many it deleted."""

TRIMMED_AT_ONCE = 1000
TIMES_SMALLER = 10
REMOVED_AT_ONCE = 100

logger = logging.getLogger("relayboard.worker")

SHORTEST_SECONDS = 0.01
"""Steps that end sooner are not in traces: they have looked, and found nothing or hardly anything."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `begin` creates its step for a process; up to `threads` threads run the step at the same time."""

    kind: str
    begin: Callable[[Runtime], Step]
    every_seconds: float
    threads: int = 1


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


def begin_alarms(runtime: Runtime) -> Callable[[], bool]:
    """The step that opens and closes the alarms of all phones, and notes which channels have failed for long."""

    def step() -> bool:
        runtime.database.write(check_alarms)
        runtime.database.write(check_outages)
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


def begin_gateways(runtime: Runtime) -> Callable[[], bool]:
    """The step that looks for messages to send, by HTTP and by other transports. A worker keeps these in one process,
    that of jobs."""
    send = begin_sending(runtime)
    if runtime.share is Share.MUCH:
        return send
    others = [begin_smpp(runtime), begin_email(runtime)]

    def step() -> bool:
        are_more_due = [each() for each in (send, *others)]
        return any(are_more_due)

    return step


begin_broadcasts = begin_turns_of(list_broadcasting_workspaces, begin_next, (begin_expansion, expand_next))


def _list_campaigning(tx: Transaction) -> list[int]:
    return sorted({*list_rescheduling_workspaces(tx), *list_firing_workspaces(tx)})


begin_campaigns = begin_turns_of(_list_campaigning, (begin_pass, run_next_pass), (begin_fires, fire_next))
begin_counts = begin_turns_of(list_counting_workspaces, interrupt_archived, show_counts)
begin_snoozes = begin_turns_of(list_returning_workspaces, return_due)
begin_schedules = begin_turns_of(list_scheduling_workspaces, (begin_due, start_due))


def begin_data(runtime: Runtime) -> Callable[[], bool]:
    """The step that performs the next job of the workspace whose turn it is."""
    performer = Performer(runtime.database, open_store(runtime.settings), runtime.stopping.is_set)

    def work(workspace_id: int) -> bool:
        held = runtime.database.write(lambda tx: take_next(tx, workspace_id))
        if held is not None:
            performer.perform(held)
        return held is not None

    return begin_turns(runtime, list_data_workspaces, work)


def begin_mail(runtime: Runtime) -> Callable[[], bool]:
    """The step that sends one letter. A letter that the mail server does not take is tried again later."""
    server, database = runtime.settings.smtp_url, runtime.database
    if server is None:
        return lambda: False
    sender = FlowEmail(runtime, server, lambda: None)
    sent: list[int] = []

    def finish(tx: Transaction) -> None:
        for each in sent:
            finish_letter(tx, each)

    def record() -> None:
        """Also what could not be recorded when it was sent, because the database was away: nobody gets it twice."""
        database.write(finish)
        sent.clear()

    def step() -> bool:
        if sent:
            record()
        letter_id = database.write(claim_letter)
        if letter_id is None:
            return False

        def write(tx: Transaction) -> Writing | None:
            return write_letter(tx, read_letter(tx, letter_id), runtime.settings.secret_key)

        writing = database.write(write)
        try:
            if writing is not None:
                sender.send([writing.recipient], writing.subject, writing.text)
        except ServiceError as error:
            reason = str(error)
            due_on = database.write(lambda tx: postpone_letter(tx, letter_id, reason))
            letters.labels("given_up" if due_on is None else "postponed").inc()
            logger.warning("a letter about an account could not be sent: %s; again at %s", reason, due_on)
        else:
            letters.labels("sent").inc()
            sent.append(letter_id)
            record()
        return True

    return step


def begin_reminders(runtime: Runtime) -> Callable[[], bool]:
    """The step that posts mails to those for whom something waits, if there is a mail server."""
    database = runtime.database

    def step() -> bool:
        if runtime.settings.smtp_url is not None:
            with database.reading() as tx:
                workspaces = list_reminded_workspaces(tx)
            for workspace_id in workspaces:
                database.write(partial(remind, workspace_id=workspace_id, base_url=runtime.settings.base_url))
        return False

    return step


JOBS = (
    Job("incoming", begin_incoming, every_seconds=2, threads=3),
    Job("parked", begin_parked, every_seconds=2),
    Job("calls", begin_calls, every_seconds=2),
    Job("timers", begin_timers, every_seconds=2),
    Job("starts", begin_starts, every_seconds=2, threads=2),
    Job("sending", begin_gateways, every_seconds=2),
    Job("webhooks", begin_webhooks, every_seconds=2),
    Job("pushes", begin_pushes, every_seconds=2),
    Job("checks", begin_checks, every_seconds=5),
    Job("files", begin_files, every_seconds=10),
    Job("templates", begin_templates, every_seconds=60),
    Job("broadcasts", begin_broadcasts, every_seconds=2),
    Job("campaigns", begin_campaigns, every_seconds=5),
    Job("schedules", begin_schedules, every_seconds=5),
    Job("snoozes", begin_snoozes, every_seconds=5),
    Job("counts", begin_counts, every_seconds=2),
    Job("groups", begin_groups, every_seconds=10),
    Job("data", begin_data, every_seconds=5, threads=2),
    Job("mail", begin_mail, every_seconds=30),
    Job("reminders", begin_reminders, every_seconds=60),
    Job("alarms", begin_alarms, every_seconds=60),
    Job("expiry", begin_expiry, every_seconds=3600),
    Job("statistics", begin_statistics, every_seconds=3600),
    Job("learning", begin_learning, every_seconds=5),
    Job("archives", begin_archiving, every_seconds=3600),
    Job("trimming", begin_trimming, every_seconds=600),
)


class JobPool:
    """Runs jobs by name. If all threads of a job are busy when it is woken, one of them runs its step once more."""

    def __init__(self, jobs: Iterable[Job], runtime: Runtime) -> None:
        self._runners = {job.kind: _JobRunner(job, job.begin(runtime), runtime.stopping) for job in jobs}

    def run(self, kind: str) -> None:
        """Runs a job in this thread; returns at once if other threads are running it. Raises what the job raises, but
        not what the database may do at any time: the next sweep tries again.
        """
        runner = self._runners.get(kind)
        if runner is None:  # another version of the program may know more jobs
            return
        try:
            runner.run()
        except DatabaseError as error:
            if not (is_temporary(error) or took_too_long(error)):
                raise
            logger.warning("the job %s is tried again later: %s", kind, " ".join(reason_of(error).split()))


class _JobRunner:
    def __init__(self, job: Job, step: Step, stopping: threading.Event) -> None:
        self._kind = job.kind
        self._step = step
        self._threads = job.threads
        self._stopping = stopping
        self._lock = threading.Lock()
        self._running = 0
        self._is_asked_again = False
        self._asked_by: Causes = ()

    def run(self) -> None:
        with self._lock:
            if self._running >= self._threads:
                self._is_asked_again = True
                self._asked_by = join_causes(self._asked_by, causes())
                return
            self._running += 1
        try:
            asked_by: Causes | None = causes()
            while asked_by is not None:
                with caused_by(asked_by):
                    is_more_due = self._measured_step()
                asked_by = self._next(is_more_due, asked_by)
        except BaseException:
            with self._lock:
                self._running -= 1
            raise

    def _measured_step(self) -> bool:
        with step_span(f"job {self._kind}", SHORTEST_SECONDS), measuring_step(self._kind):
            return self._step()

    def _next(self, is_more_due: bool, asked_by: Causes) -> Causes | None:
        """What the next step is caused by: whoever asked last; None if there is none."""
        # Ending and being woken exclude each other, so that no wake-up is lost between the two.
        with self._lock:
            goes_on = (is_more_due or self._is_asked_again) and not self._stopping.is_set()
            if self._is_asked_again:
                asked_by = self._asked_by
            self._is_asked_again, self._asked_by = False, ()
            if not goes_on:
                self._running -= 1
                return None
            return asked_by


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
