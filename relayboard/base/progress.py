"""How far long work is. It reports what is done, and nobody listens unless a person waits at a terminal: functions in
between need not pass anything on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Protocol

PIECE_BYTES = 1024 * 1024

Listener = Callable[[str, int, int], None]
"""Called with what is worked on, how much of it is done, and how much there is (0 if nobody knows)."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Writing(Protocol):
    """A file that is written."""

    def write(self, data: bytes, /) -> int: ...


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within the block reports of this thread go to the listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(what: str, done: int, total: int = 0) -> None:
    """Say how far the work on something is."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


def copy_reporting(source: IO[bytes], target: Writing, what: str, total: int) -> None:
    """Copies a file, and reports its bytes."""
    done = 0
    while piece := source.read(PIECE_BYTES):
        target.write(piece)
        done += len(piece)
        report(what, done, total)
