"""A worker writes a heartbeat to the database every few seconds, in a separate thread, and its name into its queue."""

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Iterator
from functools import partial

from persistence.database import Database
from persistence.errors import DatabaseError
from persistence.heartbeats import BEAT_SECONDS, Worker, end_heartbeat, record_heartbeat
from persistence.migrations import list_revisions
from relayboard.base.version import program_version
from worker.app import forget_worker, note_worker
from worker.queue_drivers import Huey, failures

logger = logging.getLogger("relayboard.worker")


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
