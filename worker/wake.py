"""Wakes workers by the names of their jobs, after a commit and outside of the request."""

import logging
import threading
from collections.abc import Callable

from persistence.database import Wake
from relayboard.base.settings import Settings
from relayboard.base.tracing import Causes, carried, join_causes
from worker.app import create_queue, declare_run

logger = logging.getLogger("relayboard.wake")

PAUSE_SECONDS = 0.02
"""Wake-ups of the same job within this time are combined: under load, a queue message per request would only cost time.
"""


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


def _work_elsewhere(kind: str) -> None:
    raise RuntimeError(f"{kind} has to be done by a worker process")
