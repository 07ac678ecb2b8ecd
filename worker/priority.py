"""The priority of senders: what others wait for comes first. A sender runs only while a processor has nothing else to
do (SCHED_IDLE), so that whoever wakes up beside it gets the processor at once, and not when a turn of the sender is
over. On a machine whose processors are always in use it would get next to nothing. Without special rights a process
cannot leave that policy; so a sender that starves leaves, and those that follow it have a small share for a while.
"""

import mmap
import os
import time
from contextlib import suppress
from pathlib import Path
from struct import Struct

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
