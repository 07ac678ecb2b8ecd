"""A limit on the whole of an exchange: socket timeouts alone let a receiver go on by sending a byte now and then."""

import contextlib
import socket
import threading
import time
from types import TracebackType


class Deadline:
    """Shuts the watched socket down when its time is over, which ends whatever waits for it; use as a context."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._watched: socket.socket | None = None
        self._is_finished = False
        self.has_expired = False
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> "Deadline":
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_finished = True
            self._watched = None

    @property
    def seconds_left(self) -> float:
        return max(self._ends_at - time.monotonic(), 0.0)

    def watch(self, sock: socket.socket) -> None:
        """The socket to shut down; at once when the time is over already."""
        with self._lock:
            self._watched = sock
            if self.has_expired:
                _shut_down(sock)

    def _expire(self) -> None:
        with self._lock:
            if self._is_finished:
                return
            self.has_expired = True
            if self._watched is not None:
                _shut_down(self._watched)


def _shut_down(sock: socket.socket) -> None:
    # The other side may have closed it a moment ago, which is what we want.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
