"""Runs jobs in one process: each in a limited number of threads, and once more if it was woken while running."""

import logging
import threading
from collections.abc import Iterable

from persistence.errors import DatabaseError, is_temporary, reason_of, took_too_long
from relayboard.base.tracing import Causes, caused_by, causes, join_causes, step_span
from worker.jobs import Job, Step
from worker.metrics import measuring_step
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.worker")

SHORTEST_SECONDS = 0.01
"""Steps that end sooner are not in traces: they have looked, and found nothing or hardly anything."""


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
