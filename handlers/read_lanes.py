"""Schedules reading requests: quick ones share the database threads, slow ones of a workspace run one after another. A
kind of request counts as slow if the last one was slow; it then runs in the slow lane until one is quick again.
Searches count as slow until one was quick. So expensive requests delay only their own workspace.
"""

import threading
import time
from collections.abc import Callable, Collection, Hashable
from typing import TypeVar

from handlers.asgi.refusals import Refusal
from handlers.lanes import Lane, Lanes
from handlers.threads import Threads, process_threads

SLOW_SECONDS = 0.25
SLOW_AT_ONCE = 2
"""Slow requests that a process runs, of different workspaces."""
WAITING_SLOW = 16
"""Slow requests of a workspace that wait in a process; further ones are told to come back."""
KINDS_KEPT = 10_000
SEARCHES = frozenset({"text", "query", "search"})
"""Parameters by which text is searched for."""

Result = TypeVar("Result")
Kind = Hashable


class ReadLanes:
    """The lanes of one process. The quick one has `threads`, one of which is always left to other workspaces."""

    def __init__(self, threads: int, pool: Threads | None = None) -> None:
        self._pool = pool or process_threads()
        self._quick = Lanes(max(threads - 1, 1))
        self._slow = Lanes(1)
        self._slow_threads = Lane(SLOW_AT_ONCE)
        self._lock = threading.Lock()
        self._known: dict[Kind, bool] = {}

    async def run(
        self,
        workspace_id: int,
        operation: str,
        filters: Collection[str],
        limiter: Lane,
        work: Callable[[bool], Result],
    ) -> Result:
        """Runs `work` in a thread of the request's lane and returns its result; `work` is told whether it is the slow
        lane. Raises Refusal (503) if too many slow requests of the workspace wait already.
        """
        kind = (workspace_id, operation, frozenset(filters))
        if not self.is_slow(kind, filters):
            return await self._quick.run(workspace_id, lambda: self._run(kind, limiter, work, is_slow=False))
        if self._slow.count_waiting(workspace_id) >= WAITING_SLOW:
            text = "This workspace has too many slow requests at a time; try again."
            raise Refusal(503, text, {"Retry-After": "5"})
        return await self._slow.run(workspace_id, lambda: self._run(kind, self._slow_threads, work, is_slow=True))

    def is_slow(self, kind: Kind, filters: Collection[str]) -> bool:
        """Whether the last request of this kind was slow; searches are before the first one."""
        with self._lock:
            return self._known.get(kind, not SEARCHES.isdisjoint(filters))

    async def _run(self, kind: Kind, limiter: Lane, work: Callable[[bool], Result], *, is_slow: bool) -> Result:
        def timed() -> Result:
            began = time.monotonic()
            try:
                return work(is_slow)
            finally:
                self._note(kind, is_slow=time.monotonic() - began > SLOW_SECONDS)

        return await self._pool.run(timed, limiter)

    def _note(self, kind: Kind, *, is_slow: bool) -> None:
        with self._lock:
            self._known.pop(kind, None)
            self._known[kind] = is_slow
            if len(self._known) > KINDS_KEPT:
                del self._known[next(iter(self._known))]
