"""Who is served when: workspaces in turns, the one served longest ago next; and what a worker with senders divides
between its processes. The process of jobs does what is little and wakes the senders through a pipe; a sender does what
is much, behind all others (`NICENESS`), and wakes the process of jobs for the rest. docs/performance.md has what each
of these is worth.
"""

import contextlib
import logging
import os
import select
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor

from persistence.database import Transaction
from persistence.leases import Share
from relayboard.base.tracing import Causes, carried, caused_by, join_causes
from worker.runtime import Runtime

NICENESS = 15
"""Of a sender, each of whose threads counts: while processors are short, one gets a thirtieth of what a process gets
that others wait for. With 4, which is two fifths, others waited for three of its threads in turn."""
NO_TRACE = bytes(24)
WAKE_UP_BYTES = 1 + len(NO_TRACE)
"""The number of a job, and the trace and the span that caused the wake-up: so few bytes are written as one."""
READ_AT_ONCE = 4_096

logger = logging.getLogger("relayboard.worker")

REMEMBERED = 10_000

Run = Callable[[str], None]
Wake = Callable[[frozenset[str]], None]
ListDue = Callable[[Transaction], Sequence[int]]
"""The workspaces for which something may be due."""
Work = Callable[[int], bool]
"""Does a little of what is due in a workspace; whether there was anything."""


class Turns:
    """Chooses the workspace that the next thread of a job serves; each is served by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._served: dict[int, None] = {}
        self._busy: set[int] = set()
        self._missed: set[int] = set()

    def serve(self, due: Iterable[int], work: Work) -> bool:
        """Does the work of the first workspace in turn that has any; returns whether more may be due. A workspace that
        other threads serve is left to them, and they check it once more.
        """
        for workspace_id in self._order(due):
            if not self._take(workspace_id):
                continue
            # Whose work meets an error has had its turn: it would come before all others every time.
            has_worked = True
            try:
                has_worked = work(workspace_id)
            finally:
                was_missed = self._leave(workspace_id, has_worked=has_worked)
            if has_worked or was_missed:
                return True
        return False

    def _order(self, due: Iterable[int]) -> list[int]:
        with self._lock:
            served = {workspace_id: position for position, workspace_id in enumerate(self._served, start=1)}
        return sorted(due, key=lambda workspace_id: (served.get(workspace_id, 0), workspace_id))

    def _take(self, workspace_id: int) -> bool:
        with self._lock:
            if workspace_id in self._busy:
                self._missed.add(workspace_id)
                return False
            self._busy.add(workspace_id)
            return True

    def _leave(self, workspace_id: int, *, has_worked: bool) -> bool:
        """Ends a turn; returns whether another thread asked for this workspace meanwhile."""
        with self._lock:
            self._busy.discard(workspace_id)
            if has_worked:
                self._served.pop(workspace_id, None)
                self._served[workspace_id] = None
                if len(self._served) > REMEMBERED:
                    del self._served[next(iter(self._served))]
            was_missed = workspace_id in self._missed
            self._missed.discard(workspace_id)
            return was_missed


def begin_turns(runtime: Runtime, list_due: ListDue, work: Work) -> Callable[[], bool]:
    """The step that serves the next workspace in turn of those with due work."""
    turns = Turns()

    def step() -> bool:
        # Read outside of a writing transaction, which on SQLite would block all other writers.
        with runtime.database.reading() as tx:
            due = list_due(tx)
        return turns.serve(due, work)

    return step


class WakeUpPipe:
    """Wakes the senders by the names of their jobs. Wake-ups for a job are one, however many came."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._kinds = tuple(kinds)
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._writing, False)

    def notify(self, kind: str) -> bool:
        """Wakes one of the senders; false for a job that is not theirs. The current trace goes with it."""
        if kind not in self._kinds:
            return False
        job = bytes([self._kinds.index(kind)])
        with contextlib.suppress(BlockingIOError):  # thousands that nobody has read yet: one will do
            for trace in [_packed(each) for each in carried()] or [NO_TRACE]:
                os.write(self._writing, job + trace)
        return True

    def wait(self, seconds: float) -> dict[str, Causes]:
        """The jobs that were woken, and what caused it; waits so long for a wake-up."""
        waiting = select.poll()  # unlike select() it knows numbers beyond 1,023, which a process with many calls has
        waiting.register(self._reading, select.POLLIN)
        waiting.poll(max(seconds, 0.0) * 1000)
        found: dict[str, Causes] = {}
        with contextlib.suppress(BlockingIOError):  # another sender has read it
            read = os.read(self._reading, READ_AT_ONCE * WAKE_UP_BYTES)
            for start in range(0, len(read), WAKE_UP_BYTES):
                kind = self._kinds[read[start]]
                found[kind] = join_causes(found.get(kind, ()), _unpacked(read[start + 1 : start + WAKE_UP_BYTES]))
        return found

    def follow(self, run: Run, every_seconds: Mapping[str, float], threads: Executor) -> None:
        """From now on runs a job in threads: at once, when it is woken, and after so many seconds without that."""
        threading.Thread(target=self._follow, args=(run, every_seconds, threads), name="wake-ups", daemon=True).start()

    def _follow(self, run: Run, every_seconds: Mapping[str, float], threads: Executor) -> None:
        due_at = dict.fromkeys(every_seconds, time.monotonic())
        while True:
            woken = self.wait(max(min(due_at.values()) - time.monotonic(), 0.0))
            now = time.monotonic()
            for kind in {*woken, *(kind for kind, moment in due_at.items() if moment <= now)}:
                due_at[kind] = now + every_seconds[kind]
                try:
                    threads.submit(_run_caused, run, kind, woken.get(kind, ()))
                except RuntimeError:  # the threads have ended, because this process ends
                    return

    def close(self) -> None:
        os.close(self._reading)
        os.close(self._writing)


def run_and_notify(senders: WakeUpPipe, run: Run) -> Run:
    """Wakes the senders for their jobs, and runs what this process knows of them."""

    def notify_and_run(kind: str) -> None:
        senders.notify(kind)
        run(kind)

    return notify_and_run


def wake_all(
    senders: WakeUpPipe, wake: Wake, shared: Collection[str], run: Run | None = None, run_here: Collection[str] = ()
) -> Wake:
    """Wakes the senders of this worker at once, and by `wake` the process of jobs, which also does those that are
    shared with senders. What is `run_here`, whose steps take no time, is run instead.
    """

    def wake_each(kinds: frozenset[str]) -> None:
        others = {kind for kind in kinds if not senders.notify(kind) or kind in shared}
        for kind in others.intersection(run_here):
            if run is not None:
                run(kind)
        others.difference_update(run_here)
        if others:
            wake(frozenset(others))

    return wake_each


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


def _run_caused(run: Run, kind: str, by: Causes) -> None:
    try:
        with caused_by(by):
            run(kind)
    except Exception:
        # The next wake-up or sweep tries again.
        logger.exception("the job %s failed", kind)


def _packed(cause: str) -> bytes:
    _version, trace, span, _sampled = cause.split("-")
    return bytes.fromhex(trace + span)


def _unpacked(trace: bytes) -> Causes:
    return () if trace == NO_TRACE else (f"00-{trace[:16].hex()}-{trace[16:].hex()}-01",)
