"""The processes of a worker, which stop gracefully on SIGINT, SIGTERM and SIGHUP, and say in the database that they are
alive. Python computes in one thread of a process at a time: in processes of their own, thousands of messages and
calls of one workspace take no time from conversations of others.
"""

import contextlib
import logging
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from persistence.database import Database, open_serving_database
from persistence.errors import DatabaseError
from persistence.leases import Share
from persistence.migrations import list_revisions
from persistence.service.diagnosis import BEAT_SECONDS, Worker, end_heartbeat, record_heartbeat
from relayboard.base.collection import settle_collection
from relayboard.base.settings import Settings
from relayboard.base.version import program_version
from worker.app import (
    Waker,
    create_queue,
    declare_others,
    declare_run,
    declare_sweeps,
    forget_worker,
    make_wake,
    note_worker,
)
from worker.fairness import NICENESS, WakeUpPipe, run_and_notify, wake_all
from worker.jobs import BEHIND, CALLING, JOBS, LATER, SHARED, Job, JobPool
from worker.metrics import connections
from worker.queue_drivers import Consumer, Huey, Scheduler, failures
from worker.runtime import Runtime, open_http

logger = logging.getLogger("relayboard.worker")

IDLE_POLL_SECONDS = 0.2
STOP_TIMEOUT_SECONDS = 20.0
END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SWITCH_SECONDS = 0.001
"""A thread that has computed for so long lets another go on: work of one workspace waits less for that of another. Not
in a sender, where nobody waits: each thread that waits wakes up so often, and takes a processor from others."""
SPARE_CONNECTIONS = 5
"""For dispatchers. Of a worker with senders they have these."""
SENDER_THREADS = 8
OPEN_FILES = 16_384


def run_worker_process(
    settings: Settings,
    threads: int = 10,
    jobs: Iterable[Job] = JOBS,
    *,
    prepare: Callable[[Collection[int]], None] | None = None,
    on_ready: Callable[[], None] | None = None,
    pipe: WakeUpPipe | None = None,
    pid: int | None = None,
) -> int:
    """Works until SIGINT or SIGTERM: then starts nothing new, finishes running jobs, and returns 0. `threads` is the
    number of jobs that run at the same time. `prepare` is called first, with the signals that arrive meanwhile; after a
    signal no work begins. `on_ready` is called when work begins. With a pipe, this process leaves much work, and what
    nobody waits for, to senders, and wakes them. `pid` is that of the worker, this process if nothing else is said.
    """
    logging.getLogger("huey").setLevel(logging.WARNING)
    sys.setswitchinterval(SWITCH_SECONDS)
    _allow_many_files()
    early = _note_early_signals()
    if prepare is not None:
        prepare(early)
        if early:
            return 0
    left = tuple(job for job in jobs if pipe is not None and job.kind in LATER)
    jobs = tuple(job for job in jobs if job not in left)
    queue = create_queue(settings.queue_url)
    share, spare = (Share.ALL, SPARE_CONNECTIONS) if pipe is None else (Share.LITTLE, 0)
    database = open_serving_database(settings, pool_size=threads + spare)
    runtime = Runtime(settings, database, open_http(settings), share=share)
    with runtime.closing:
        runtime.closing.callback(database.close)
        connections.follow("worker", database.watch_connections)
        pool = JobPool(jobs, runtime)
        run = pool.run if pipe is None else run_and_notify(pipe, pool.run)
        wake = Waker(declare_run(queue, run)).wake
        database.wake = wake if pipe is None else wake_all(pipe, wake, SHARED, pool.run, CALLING)
        declare_sweeps(queue, pool.run, jobs)
        declare_others(queue, run, left)
        consumer = GracefulConsumer(
            queue,
            workers=threads,
            initial_delay=0.02,
            max_delay=IDLE_POLL_SECONDS,
            shutdown_timeout=STOP_TIMEOUT_SECONDS,
        )
        consumer.on_stop = runtime.stopping.set
        consumer.early_signals = early
        consumer.on_ready = on_ready or _do_nothing
        settle_collection()
        with beating(database, threads, pid=pid, queue=queue):
            consumer.run()
        runtime.stopping.set()
    return 0


def run_sender_process(settings: Settings, pipe: WakeUpPipe, *, on_ready: Callable[[], None]) -> int:
    """Does what others need not wait for until SIGINT or SIGTERM; then starts nothing new, finishes what runs, and
    returns 0. Needs no queue: the pipe wakes it, and without being woken it looks as often as these jobs need.
    """
    _allow_many_files()
    os.nice(NICENESS)
    stopping = threading.Event()
    for number in END_SIGNALS:
        signal.signal(number, lambda _number, _frame: stopping.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)
    jobs = [job for job in JOBS if job.kind in BEHIND]
    database = open_serving_database(settings, pool_size=SENDER_THREADS)
    runtime = Runtime(settings, database, open_http(settings), stopping, share=Share.MUCH)
    with runtime.closing:
        runtime.closing.callback(database.close)
        connections.follow("worker", database.watch_connections)
        pool = JobPool(jobs, runtime)
        database.wake = wake_all(pipe, make_wake(settings), SHARED)
        answering = runtime.closing.enter_context(ThreadPoolExecutor(SENDER_THREADS, thread_name_prefix="job"))
        pipe.follow(pool.run, {job.kind: job.every_seconds for job in jobs}, answering)
        on_ready()
        settle_collection()
        wait_for_signals(stopping)
    return 0


def wait_for_signals(stopping: threading.Event) -> None:
    """Waits in the main thread until a handler of signals sets the event. Handlers only run in this thread, which does
    not notice a signal that another thread takes while it waits for a lock; so it waits for what any signal writes.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        while not stopping.is_set():
            os.read(reading, 1)
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


class SweepScheduler(Scheduler):  # type: ignore[misc]  # huey has no types
    """Checks every second, not every minute, which sweeps are due, and runs them itself while the queue is down."""

    periodic_task_seconds = 1

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._running: dict[str, threading.Thread] = {}

    def enqueue_periodic_tasks(self, now: object = None) -> None:
        for task in self.huey.read_periodic(now):
            try:
                self.huey.enqueue(task)
            except Exception:
                # Each queue has its own exceptions. With any of them work can continue, because the rows are in the
                # database.
                logger.warning("the queue cannot be used; %s runs without it", task.name, exc_info=True)
                self._run_here(task)

    def _run_here(self, task: Any) -> None:
        running = self._running.get(task.name)
        if running is None or not running.is_alive():
            self._running[task.name] = threading.Thread(target=task.execute, name=task.name, daemon=True)
            self._running[task.name].start()


class GracefulConsumer(Consumer):  # type: ignore[misc]  # huey has no types
    """A consumer that finishes its running jobs and then ends, on SIGTERM, SIGINT and SIGHUP."""

    scheduler_class = SweepScheduler

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.on_stop = _do_nothing
        self.on_ready: Callable[[], None] = _do_nothing
        graceful_end = (False, True)
        self.early_signals: list[int] = []
        self._signal_actions = dict.fromkeys(END_SIGNALS, graceful_end)

    def _set_signal_handlers(self) -> None:
        super()._set_signal_handlers()
        for number in self.early_signals[:1]:
            signal.raise_signal(number)

    def start(self) -> None:
        super().start()
        self.on_ready()

    def stop(self, graceful: bool = False) -> None:
        self.on_stop()
        super().stop(graceful)


@contextlib.contextmanager
def beating(
    database: Database,
    threads: int,
    every_seconds: float = BEAT_SECONDS,
    *,
    pid: int | None = None,
    queue: Huey | None = None,
) -> Iterator[Worker]:
    """Writes heartbeats until the block ends, and then deletes the row. A failed heartbeat stops no work: the next one
    may succeed, and the log reports the failure once. `pid` is that of the worker, this process if nothing else is
    said.
    """
    worker = Worker(socket.gethostname(), pid or os.getpid(), threads, program_version(), list_revisions()[-1])
    ended = threading.Event()
    thread = threading.Thread(
        target=_beat, args=(database, worker, ended, every_seconds, queue), name="heartbeat", daemon=True
    )
    thread.start()
    try:
        yield worker
    finally:
        ended.set()
        thread.join(every_seconds)
        # Nothing to do: a row that is left behind is deleted within a day.
        with contextlib.suppress(DatabaseError):
            database.write(partial(end_heartbeat, worker=worker))
        with contextlib.suppress(*failures()):
            if queue is not None:
                forget_worker(queue, worker.uuid)


def _allow_many_files() -> None:
    """Connections to receivers and gateways stay open; they may be more than the usual soft limit of 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _note_early_signals() -> list[int]:
    """Work begins before the consumer handles signals; signals that arrive before are kept for it."""
    early: list[int] = []
    for number in END_SIGNALS:
        signal.signal(number, lambda received, _frame: early.append(received))
    # Those who fork a worker block signals until it can note them.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)
    return early


def _do_nothing() -> None:
    return None


def _beat(database: Database, worker: Worker, ended: threading.Event, every_seconds: float, queue: Huey | None) -> None:
    fails = False
    while True:
        with contextlib.suppress(*failures()):  # who reads the queue tells
            if queue is not None:
                note_worker(queue, worker.uuid)
        try:
            database.write(partial(record_heartbeat, worker=worker))
            fails = False
        except DatabaseError as error:
            if not fails:
                logger.warning("the worker cannot say that it is alive: %s", type(error).__name__)
            fails = True
        if ended.wait(every_seconds):
            return
