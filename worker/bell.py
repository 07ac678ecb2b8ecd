"""The bell by which a worker's processes wake its senders: a pipe that all forked processes of the worker share."""

import contextlib
import logging
import os
import select
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor

from relayboard.base.tracing import Causes, carried, caused_by, join_causes

logger = logging.getLogger("relayboard.worker")

NO_TRACE = bytes(24)
RING_BYTES = 1 + len(NO_TRACE)
"""The number of a job, and the trace and the span that caused the ring: so few bytes are written as one."""
RINGS_AT_ONCE = 4_096

Run = Callable[[str], None]
Wake = Callable[[frozenset[str]], None]


class Bell:
    """Each ring names a job. Rings for a job are one wake-up, however many came."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._kinds = tuple(kinds)
        self._hearing, self._ringing = os.pipe()
        os.set_blocking(self._hearing, False)
        os.set_blocking(self._ringing, False)

    def ring(self, kind: str) -> bool:
        """Wakes one of the senders; false for a job that is not theirs. The current trace goes with it."""
        if kind not in self._kinds:
            return False
        job = bytes([self._kinds.index(kind)])
        with contextlib.suppress(BlockingIOError):  # thousands of rings that nobody has heard yet: one will do
            for trace in [_packed(each) for each in carried()] or [NO_TRACE]:
                os.write(self._ringing, job + trace)
        return True

    def hear(self, seconds: float) -> dict[str, Causes]:
        """The jobs for which it rang, and what caused it; waits so long for a ring."""
        waiting = select.poll()  # unlike select() it knows numbers beyond 1,023, which a process with many calls has
        waiting.register(self._hearing, select.POLLIN)
        waiting.poll(max(seconds, 0.0) * 1000)
        heard: dict[str, Causes] = {}
        with contextlib.suppress(BlockingIOError):  # another sender heard it
            rings = os.read(self._hearing, RINGS_AT_ONCE * RING_BYTES)
            for start in range(0, len(rings), RING_BYTES):
                kind = self._kinds[rings[start]]
                heard[kind] = join_causes(heard.get(kind, ()), _unpacked(rings[start + 1 : start + RING_BYTES]))
        return heard

    def answer(self, run: Run, every_seconds: Mapping[str, float], threads: Executor) -> None:
        """From now on, in threads, runs a job when it rings, at once, and after so many seconds without a ring."""
        threading.Thread(target=self._answer, args=(run, every_seconds, threads), name="bell", daemon=True).start()

    def _answer(self, run: Run, every_seconds: Mapping[str, float], threads: Executor) -> None:
        due_at = dict.fromkeys(every_seconds, time.monotonic())
        while True:
            rung = self.hear(max(min(due_at.values()) - time.monotonic(), 0.0))
            now = time.monotonic()
            for kind in {*rung, *(kind for kind, moment in due_at.items() if moment <= now)}:
                due_at[kind] = now + every_seconds[kind]
                try:
                    threads.submit(_run_caused, run, kind, rung.get(kind, ()))
                except RuntimeError:  # the threads have ended, because this process ends
                    return

    def close(self) -> None:
        os.close(self._hearing)
        os.close(self._ringing)


def _run_caused(run: Run, kind: str, rung: Causes) -> None:
    try:
        with caused_by(rung):
            run(kind)
    except Exception:
        # The next ring or sweep tries again.
        logger.exception("the job %s failed", kind)


def _packed(cause: str) -> bytes:
    _version, trace, span, _sampled = cause.split("-")
    return bytes.fromhex(trace + span)


def _unpacked(trace: bytes) -> Causes:
    return () if trace == NO_TRACE else (f"00-{trace[:16].hex()}-{trace[16:].hex()}-01",)


def ring_first(bell: Bell, run: Run) -> Run:
    """Rings for the senders' jobs, and runs what this process knows of them."""

    def ring_and_run(kind: str) -> None:
        bell.ring(kind)
        run(kind)

    return ring_and_run


def ring_at_wake(bell: Bell, wake: Wake, shared: Collection[str]) -> Wake:
    """Wakes the senders of this worker at once, and by `wake` the process of jobs, which also does those that are
    shared with senders."""

    def ring_and_wake(kinds: frozenset[str]) -> None:
        others = frozenset(kind for kind in kinds if not bell.ring(kind) or kind in shared)
        if others:
            wake(others)

    return ring_and_wake


def run_at_wake(kinds: Collection[str], run: Run, wake: Wake) -> Wake:
    """Runs these jobs, whose steps take no time, and wakes others by `wake`."""

    def run_or_wake(woken: frozenset[str]) -> None:
        for kind in woken.intersection(kinds):
            run(kind)
        others = woken.difference(kinds)
        if others:
            wake(others)

    return run_or_wake
