"""Time limits for whole exchanges: with socket timeouts alone a receiver could continue forever by sending a byte now
and then."""

import contextlib
import heapq
import itertools
import socket
import threading
import time
from types import TracebackType


class Deadline:
    """Shuts down the watched socket when its time is over, which ends everything that waits for it; used as a context
    manager."""

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
        """Sets the socket to shut down; shuts it down at once if the time is over already."""
        with self._lock:
            self._watched = sock
            if self.has_expired:
                _shut_down(sock)

    def expire(self) -> None:
        """Called when the time is over; does nothing if the exchange has ended."""
        with self._lock:
            if self.is_finished:
                return
            self.has_expired = True
            if self._watched is not None:
                _shut_down(self._watched)


class Watchdog:
    """One thread that expires all deadlines; a timer for each of them would cost more than the exchange."""

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
    # The other side may have just closed it, which is fine.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
