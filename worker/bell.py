"""The bell by which a worker's process wakes its senders: a pipe that all forked processes of the worker share."""

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Mapping, Sequence

RINGS_AT_ONCE = 65_536

Run = Callable[[str], None]


class Bell:
    """Each ring is a byte that names a job. Rings for a job are one wake-up, however many came."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._kinds = tuple(kinds)
        self._hearing, self._ringing = os.pipe()
        os.set_blocking(self._hearing, False)
        os.set_blocking(self._ringing, False)

    def ring(self, kind: str) -> bool:
        """Wakes one of the senders; false for a job that is not theirs."""
        if kind not in self._kinds:
            return False
        with contextlib.suppress(BlockingIOError):  # thousands of rings that nobody has heard yet: one will do
            os.write(self._ringing, bytes([self._kinds.index(kind)]))
        return True

    def hear(self, seconds: float) -> set[str]:
        """The jobs for which it rang; waits so long for a ring."""
        select.select([self._hearing], [], [], seconds)
        with contextlib.suppress(BlockingIOError):  # another sender heard it
            return {self._kinds[each] for each in set(os.read(self._hearing, RINGS_AT_ONCE))}
        return set()

    def answer(self, run: Run, every_seconds: Mapping[str, float]) -> None:
        """From now on, in a thread, runs a job when it rings, at once, and after so many seconds without a ring."""
        threading.Thread(target=self._answer, args=(run, every_seconds), name="bell", daemon=True).start()

    def _answer(self, run: Run, every_seconds: Mapping[str, float]) -> None:
        due_at = dict.fromkeys(every_seconds, time.monotonic())
        while True:
            rung = self.hear(max(min(due_at.values()) - time.monotonic(), 0.0))
            now = time.monotonic()
            for kind in rung | {kind for kind, moment in due_at.items() if moment <= now}:
                run(kind)
                due_at[kind] = now + every_seconds[kind]

    def close(self) -> None:
        os.close(self._hearing)
        os.close(self._ringing)


def ring_first(bell: Bell, run: Run) -> Run:
    """Rings for the senders' jobs; runs others."""

    def ring_or_run(kind: str) -> None:
        if not bell.ring(kind):
            run(kind)

    return ring_or_run


def ring_at_wake(bell: Bell, wake: Callable[[frozenset[str]], None]) -> Callable[[frozenset[str]], None]:
    """Wakes the senders of this worker at once, and others by `wake`."""

    def ring_and_wake(kinds: frozenset[str]) -> None:
        others = frozenset(kind for kind in kinds if not bell.ring(kind))
        if others:
            wake(others)

    return ring_and_wake
