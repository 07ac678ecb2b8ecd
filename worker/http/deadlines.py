"""Limits on whole exchanges: socket timeouts alone let a receiver go on by sending a byte now and then."""

import contextlib
import heapq
import itertools
import socket
import threading
import time
from types import TracebackType


class Deadline:
    """Shuts the watched socket down when its time is over, which ends whatever waits for it; use as a context."""

    def __init__(self, watchdog: "Watchdog", seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds
        self.is_finished = False
        self.has_expired = False
        self._watchdog = watchdog
        self._lock = threading.Lock()
        self._watched: socket.socket | None = None

    def __enter__(self) -> "Deadline":
        self._watchdog.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            self.is_finished = True
            self._watched = None

    @property
    def seconds_left(self) -> float:
        return max(self.ends_at - time.monotonic(), 0.0)

    def watch(self, sock: socket.socket) -> None:
        """The socket to shut down; at once when the time is over already."""
        with self._lock:
            self._watched = sock
            if self.has_expired:
                _shut_down(sock)

    def expire(self) -> None:
        """The time is over, unless the exchange is."""
        with self._lock:
            if self.is_finished:
                return
            self.has_expired = True
            if self._watched is not None:
                _shut_down(self._watched)


class Watchdog:
    """One thread that lets deadlines expire; a timer for each would cost more than the exchange it watches."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Deadline]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def add(self, deadline: Deadline) -> None:
        with self._changed:
            heapq.heappush(self._waiting, (deadline.ends_at, next(self._numbers), deadline))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
            elif self._waiting[0][2] is deadline:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            self._wait_for_next().expire()

    def _wait_for_next(self) -> Deadline:
        with self._changed:
            while True:
                seconds = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if seconds is not None and seconds <= 0:
                    return heapq.heappop(self._waiting)[2]
                self._changed.wait(seconds)


def _shut_down(sock: socket.socket) -> None:
    # The other side may have closed it a moment ago, which is what we want.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
