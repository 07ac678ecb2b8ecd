"""The priority of senders: what others wait for comes first; the bell that wakes them, and what they leave to the
process of jobs. A sender runs only while a processor has nothing else to do (SCHED_IDLE), so that whoever wakes up
beside it gets the processor at once, and not when a turn of the sender is over. On a machine whose processors are
always in use it would get next to nothing. Without special rights a process cannot leave that policy; so a sender
that starves leaves, and those that follow it have a small share for a while.
"""

import contextlib
import logging
import mmap
import os
import select
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from struct import Struct

from persistence.sql.due_work import Share
from relayboard.base.tracing import Causes, carried, caused_by, join_causes
from worker.runtime import Runtime

NICENESS = 15
"""Of a sender with a share, each of whose threads counts: while processors are short, one gets a thirtieth of what a
process gets that others wait for. With 4, which is two fifths, others waited for three of its threads in turn."""
LOOK_SECONDS = 5.0
WANTED_SECONDS = 1.0
"""Who wants less of a processor between two looks does not starve."""
LEAST_PART = 0.03
"""Of what it wants: in a flood on two processors it gets a fifth, in the last place on a busy one a three-hundredth."""
SHARED_SECONDS = 600.0
THREADS = Path("/proc/self/task")
_SHARED = Struct("dq")

logger = logging.getLogger("relayboard.worker")

NO_TRACE = bytes(24)
RING_BYTES = 1 + len(NO_TRACE)
"""The number of a job, and the trace and the span that caused the ring: so few bytes are written as one."""
RINGS_AT_ONCE = 4_096

Run = Callable[[str], None]
Wake = Callable[[frozenset[str]], None]


def is_starving(got: float, waited: float) -> bool:
    """Whether threads that got so many seconds of a processor, and waited so many for one, hardly get any."""
    wanted = got + waited
    return wanted >= WANTED_SECONDS and got < wanted * LEAST_PART


def read_processor_time() -> tuple[float, float] | None:
    """The seconds that the threads of this process got of processors, and that they waited for one, so far; None where
    the system does not tell.
    """
    got = waited = 0
    try:
        for thread in THREADS.iterdir():
            with suppress(ProcessLookupError, FileNotFoundError):  # the thread has just ended
                ran, stood, *_ = (thread / "schedstat").read_text().split()
                got += int(ran)
                waited += int(stood)
    except (OSError, ValueError):
        return None
    return (got / 1e9, waited / 1e9) if got else None


def _be_last() -> None:
    """All threads of this process; where that is not known or not allowed it has its share."""
    policy = getattr(os, "SCHED_IDLE", None)
    if policy is None:
        return
    for thread in THREADS.iterdir():
        with suppress(OSError):  # it has just ended, or may not
            if os.sched_getscheduler(int(thread.name)) != policy:
                os.sched_setscheduler(int(thread.name), policy, os.sched_param(0))


class Priority:
    """The priority of the senders of a worker. It is made by their parent, and all of them share it."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _SHARED.size)

    def give_way(self) -> "Place":
        """Puts this process behind all others; its later threads inherit that."""
        os.nice(NICENESS)
        place = Place(self)
        place.settle()
        return place

    @property
    def is_shared(self) -> bool:
        """Whether senders have a share of the processors at the moment."""
        return time.monotonic() < self._read()[0]

    def is_left_by(self, pid: int) -> bool:
        """Whether this sender starves, so that another one should begin."""
        return self._read()[1] == pid

    def leave(self) -> None:
        """This sender starves; those that begin now have a share, for ten minutes."""
        self._shared[:] = _SHARED.pack(time.monotonic() + SHARED_SECONDS, os.getpid())

    def _read(self) -> tuple[float, int]:
        until, pid = _SHARED.unpack(self._shared[:])
        return until, pid


class Place:
    """The place of one sender, which looks now and then whether it still is the right one."""

    def __init__(self, priority: Priority) -> None:
        self._priority = priority
        self._before = read_processor_time()
        self._may_starve = False

    def settle(self) -> None:
        """Takes the last place, unless senders have a share or it cannot be known whether this one starves."""
        if self._before is not None and not self._priority.is_shared:
            _be_last()
            self._may_starve = True

    def look(self) -> bool:
        """Whether this sender starves and leaves; otherwise it goes on in its place."""
        before, now = self._before, read_processor_time()
        self._before = now
        if before is None or now is None:
            return False
        if self._may_starve and is_starving(now[0] - before[0], now[1] - before[1]):
            self._priority.leave()
            return True
        self.settle()
        return False


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


class HandOver:
    """Remembers for whom a sender had much to do, and wakes the process of jobs for the rest of it, which would
    otherwise wait for the next sweep.
    """

    def __init__(self, runtime: Runtime, kind: str) -> None:
        self._runtime = runtime
        self._kind = kind
        self._known: frozenset[object] = frozenset()
        self._is_due = False

    def see(self, due: Iterable[object]) -> None:
        """These are now those for whom much is due."""
        now = frozenset(due)
        self._is_due = self._is_due or not self._known <= now
        self._known = now

    def finish(self) -> None:
        """Wakes the process of jobs if one of them is no longer among them; not in a transaction, because it would look
        before the end of this one."""
        if self._is_due and self._runtime.share is Share.MUCH:
            self._is_due = False
            self._runtime.database.wake(frozenset({self._kind}))


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
