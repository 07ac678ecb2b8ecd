"""The Huey queue that wakes workers and schedules jobs. The work itself is in the database, so a lost queue message
only costs seconds."""

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from persistence.diagnosis import Heartbeat
from persistence.sql.engines import queue_dsn
from relayboard.base.private_files import make_file
from relayboard.base.settings import sqlite_file
from relayboard.base.tracing import Causes, caused_by
from relayboard.base.version import program_version
from worker.errors import QueueError
from worker.queue_drivers import (
    EmptyData,
    Huey,
    PostgresHuey,
    PostgresStorage,
    RedisHuey,
    SqliteHuey,
    failures,
    load_postgresql,
    load_redis,
)
from worker.queue_messages import RUN, SWEEP, JsonMessages

if TYPE_CHECKING:  # the jobs load all that workers do, and who only asks the queue needs none of them
    from worker.jobs import Job

QUEUE_NAME = "relayboard"
TABLES_LOCK = 7_352_948_101
"""A number of ours among the advisory locks of a database."""

WORKER = "relayboard.worker."
OTHER_QUEUE = (
    "the workers on {hosts} take work from another queue than this machine, so nobody is woken there and work waits "
    "for the next look"
)
SAME_QUEUE = "set RELAYBOARD_QUEUE_URL to one queue on all machines, and restart them"

Run = Callable[[str], None]
"""Does the work of one job."""


class TablesInTurn(PostgresStorage):  # type: ignore[misc]  # huey has no types
    """A queue whose tables are created by one process at a time: PostgreSQL's CREATE TABLE IF NOT EXISTS fails when
    another transaction creates the same table.
    """

    def initialize_schema(self) -> None:
        with self.db(commit=True, close=True) as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (TABLES_LOCK,))
            for statement in self.ddl:
                cursor.execute(statement)


def create_queue(queue_url: str) -> Huey:
    """The queue of a setting: `sqlite:///FILE`, `postgresql://...` or `redis://...`; ValueError for others."""
    options: dict[str, Any] = {"results": False, "serializer": JsonMessages()}
    if queue_url.startswith(("redis://", "rediss://", "unix://")):
        load_redis()
        return RedisHuey(QUEUE_NAME, url=queue_url, **options)
    file = sqlite_file(queue_url)
    if file is not None:
        make_file(file)
        # No fsync: after a power failure the sweeps find in the database what the queue has lost.
        return SqliteHuey(QUEUE_NAME, filename=str(file), fsync=False, **options)
    if queue_url.startswith("postgres"):
        load_postgresql()
        return PostgresHuey(QUEUE_NAME, storage_class=TablesInTurn, dsn=queue_dsn(queue_url), **options)
    raise ValueError(f"a queue can be in SQLite, PostgreSQL or Redis, not in {queue_url.partition('://')[0]}")


def check_queue(queue_url: str) -> None:
    """Prepares the queue and reads it once. Raises QueueError."""
    try:
        queue = create_queue(queue_url)
        queue.pending_count()
        queue.storage.close()
    except failures() as error:
        raise QueueError(f"the queue (RELAYBOARD_QUEUE_URL) cannot be used: {error}") from error


def look_for_other_queues(queue_url: str, workers: Iterable[Heartbeat]) -> list[str]:
    """See `find_other_queues`. Raises QueueError."""
    try:
        queue = create_queue(queue_url)
        found = find_other_queues(queue, workers)
        queue.storage.close()
    except failures() as error:
        raise QueueError(f"the queue (RELAYBOARD_QUEUE_URL) cannot be used: {error}") from error
    return found


def note_worker(queue: Huey, worker_uuid: str) -> None:
    """Leaves the name of a worker in its queue, where other processes look whether it is theirs. Raises an exception of
    `failures`."""
    queue.storage.put_data(WORKER + worker_uuid, b"1")


def forget_worker(queue: Huey, worker_uuid: str) -> None:
    queue.storage.delete_data(WORKER + worker_uuid)


def find_other_queues(queue: Huey, workers: Iterable[Heartbeat]) -> list[str]:
    """The machines of workers of this version that are alive and take work from another queue than this one. Raises an
    exception of `failures`."""
    alive = [each for each in workers if each.is_alive and each.version == program_version()]
    return sorted({each.host for each in alive if queue.storage.peek_data(WORKER + each.uuid) is EmptyData})


def declare_run(queue: Huey, run: Run) -> Any:
    """The task `run_work(kind, causes)`: calling it queues a wake-up, and a consumer of the queue calls `run`."""

    def run_work(kind: str, causes: Causes = ()) -> None:
        with caused_by(causes):
            run(kind)

    return queue.task(name=RUN)(run_work)


def declare_sweeps(queue: Huey, run: Run, jobs: "Iterable[Job]") -> None:
    """A periodic task (sweep) for each job, so that nothing waits longer than its interval if a wake-up is lost. An
    interval begins at the start of the process. A sweep that waited longer than its interval is dropped.
    """
    for work in jobs:
        task = queue.periodic_task(_every(work.every_seconds), name=f"{SWEEP}{work.kind}", expires=work.every_seconds)
        task(_sweep(run, work.kind))


def declare_others(queue: Huey, run: Run, jobs: "Iterable[Job]") -> None:
    """The tasks of jobs that this process leaves to others: it begins no sweep of them, but other workers of the same
    queue do, and any process may take one out of the queue.
    """
    for work in jobs:
        queue.task(name=f"{SWEEP}{work.kind}")(_sweep(run, work.kind))


def _sweep(run: Run, kind: str) -> Callable[[], None]:
    def sweep() -> None:
        run(kind)

    return sweep


def _every(seconds: float) -> Callable[[Any], bool]:
    """True when so many seconds have passed since it was last true; Huey's own schedules cannot be shorter than a
    minute."""
    due_at = time.monotonic()

    def is_due(_now: object) -> bool:
        nonlocal due_at
        now = time.monotonic()
        if now < due_at:
            return False
        due_at = now + seconds
        return True

    return is_due
