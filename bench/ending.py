"""Runs of hours end in order when they are told to, with the figures that they have."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_by_signals(stopping: threading.Event) -> Iterator[None]:
    """Signals to end only set `stopping` meanwhile, if this is the thread that may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def follow() -> None:
        if os.read(reading, 1) != b"\0":
            stopping.set()

    # A handler must not do it: this thread may hold the event's lock just then.
    follower = threading.Thread(target=follow, name="signals", daemon=True)
    follower.start()
    before = [signal.signal(number, _do_nothing) for number in numbers]
    woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        os.write(writing, b"\0")
        follower.join()
        os.close(reading)
        os.close(writing)


def _do_nothing(_number: int, _frame: object) -> None:
    """What the signal has written is enough."""
