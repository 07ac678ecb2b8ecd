"""The Huey queue that wakes workers and schedules jobs: by the names of their jobs, after a commit and outside of the
request. The work itself is in the database, so a lost queue message only costs seconds. Queue messages are JSON that
names a task of a fixed set, so that write access to the queue does not allow running code.
"""

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from persistence.database import Wake
from persistence.service.diagnosis import Heartbeat
from persistence.sql.engines import queue_dsn
from relayboard.base.private_files import make_file
from relayboard.base.settings import Settings, sqlite_file
from relayboard.base.tracing import MOST_CAUSES, TRACEPARENT, Causes, carried, caused_by, join_causes
from relayboard.base.version import program_version
from worker.errors import QueueError
from worker.queue_drivers import (
    EmptyData,
    Huey,
    Message,
    PostgresHuey,
    PostgresStorage,
    RedisHuey,
    Serializer,
    SqliteHuey,
    failures,
    load_postgresql,
    load_redis,
)

if TYPE_CHECKING:
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

RUN = "run_work"
SWEEP = "sweep_"
MODULE = "worker.app"
NAME = re.compile(r"(?:run_work|sweep_[a-z_]{1,32})\Z")
KIND = re.compile(r"[a-z_]{1,32}\Z")
ID = re.compile(r"[0-9a-f-]{1,64}\Z")

logger = logging.getLogger("relayboard.wake")

PAUSE_SECONDS = 0.02
"""Wake-ups of the same job within this time are combined: under load, a queue message per request would only cost time.
"""


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


class NoMessage(ValueError):
    """The queue contains something that is not a message of this service; it is logged and dropped."""


def _text(value: object, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.match(value):
        raise ValueError
    return value


class JsonMessages(Serializer):  # type: ignore[misc]  # huey has no types
    """Huey's serializer for `{"id", "task", "kind", "expires"}`: a wake-up names its job in `kind`, a sweep has
    `expires`. Traced requests add `causes`, which programs that do not know it leave unread.
    """

    def _serialize(self, message: Message) -> bytes:
        task = str(message.name).removeprefix(f"{MODULE}.")
        kind = message.args[0] if message.args else None
        expires = message.expires_resolved.isoformat() if message.expires_resolved else None
        told: dict[str, object] = {"id": message.id, "task": task, "kind": kind, "expires": expires}
        if message.args[1:] and message.args[1]:
            told["causes"] = message.args[1]
        return json.dumps(told).encode()

    def _deserialize(self, data: bytes) -> Message:
        """Raises NoMessage."""
        try:
            given = json.loads(bytes(data))
            task, kind = _text(given["task"], NAME), given["kind"]
            arguments = (_text(kind, KIND), _causes(given.get("causes", []))) if task == RUN else ()
            expires = datetime.fromisoformat(given["expires"]) if given["expires"] is not None else None
            message_id = _text(given["id"], ID)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise NoMessage("the queue contains something that is not a message") from error
        return Message(
            id=message_id,
            name=f"{MODULE}.{task}",
            retries=0,
            retry_delay=0,
            args=arguments,
            kwargs={},
            expires=expires,
            expires_resolved=expires,
        )


def make_wake(settings: Settings) -> Wake:
    """The value of `Database.wake` in processes that only wake others."""
    queue = create_queue(settings.queue_url)
    return Waker(declare_run(queue, _work_elsewhere)).wake


class Waker:
    """Sends wake-ups from a separate thread, so that a request neither waits for the queue nor fails with it."""

    def __init__(self, send: Callable[[str, Causes], object], pause_seconds: float = PAUSE_SECONDS) -> None:
        self._send = send
        self._pause_seconds = pause_seconds
        self._changed = threading.Condition()
        self._kinds: dict[str, Causes] = {}
        self._thread: threading.Thread | None = None

    def wake(self, kinds: frozenset[str]) -> None:
        """Wake the workers of these jobs soon; returns at once. The current trace goes with it."""
        trace = carried()
        with self._changed:
            for kind in kinds:
                self._kinds[kind] = join_causes(self._kinds.get(kind, ()), trace)
            # Started at first use, so that each forked process has its own thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="wake", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._kinds)
                kinds, self._kinds = self._kinds, {}
            for kind in sorted(kinds):
                try:
                    self._send(kind, kinds[kind])
                except Exception:
                    # Each queue has its own exceptions, and none may stop later wake-ups; a sweep replaces this one.
                    logger.warning("the workers of %s could not be woken", kind, exc_info=True)
            pause.wait(self._pause_seconds)


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


def _causes(given: object) -> Causes:
    if not isinstance(given, list) or len(given) > MOST_CAUSES:
        raise ValueError
    return tuple(_text(each, TRACEPARENT) for each in given)


def _work_elsewhere(kind: str) -> None:
    raise RuntimeError(f"{kind} has to be done by a worker process")
