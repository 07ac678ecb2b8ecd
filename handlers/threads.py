"""Threads for work that waits for the database, and the places in them for reading and writing requests of one
workspace, so that they leave some to those of others. To hand work to a thread and its result back costs less than
half of what `anyio.to_thread` takes, which was an eighth of a short list.

Schedules writing requests: those of one workspace leave a thread to others. They wait for each other's locks anyway,
and for its clock (`persistence.stamps`). Who waits here has no transaction, which would keep the database from tidying
up what it has changed meanwhile: contacts who are seen by many phones at once would be found ever more slowly.

Schedules reading requests: quick ones share the database threads, slow ones of a workspace run one after another. A
kind of request counts as slow if the last one was slow; it then runs in the slow lane until one is quick again.
Searches count as slow until one was quick. So expensive requests delay only their own workspace.
"""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Hashable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import anyio

from handlers.asgi.plain_responses import Refusal

IDLE_SECONDS = 10.0
"""A thread that had nothing to do for so long ends."""

Result = TypeVar("Result")

PHONES_KEPT = 10_000

SLOW_SECONDS = 0.25
SLOW_AT_ONCE = 2
"""Slow requests that a process runs, of different workspaces."""
WAITING_SLOW = 16
"""Slow requests of a workspace that wait in a process; further ones are told to come back."""
KINDS_KEPT = 10_000
SEARCHES = frozenset({"text", "query", "search"})
"""Parameters by which text is searched for."""
Kind = Hashable


@dataclass(slots=True)
class _Job(Generic[Result]):
    """Work, and what it came to. `has_ended` is set in the loop, and `turn` then wakes who waits."""

    work: Callable[[], Result]
    context: Context
    loop: asyncio.AbstractEventLoop
    turn: "asyncio.Future[None]"
    result: Result | None = None
    error: BaseException | None = None
    has_ended: bool = False

    def run(self) -> None:
        try:
            self.result = self.context.run(self.work)
        except BaseException as error:  # it is raised where the result is awaited
            self.error = error

    def tell(self) -> None:
        self.has_ended = True
        if not self.turn.done():
            self.turn.set_result(None)

    async def ended(self) -> None:
        """Who is cancelled still waits for the end of the work, because it may hold a transaction."""
        try:
            await self.turn
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                while not self.has_ended:
                    self.turn = self.loop.create_future()
                    with suppress(asyncio.CancelledError):
                        await self.turn
            raise


class Lane:
    """So many places; who finds them full waits in order of arrival."""

    __slots__ = ("_places", "busy", "waiting")

    def __init__(self, places: int) -> None:
        self._places = places
        self.busy = 0
        self.waiting: deque[anyio.Event] = deque()

    async def enter(self) -> None:
        """Takes a place, when there is one."""
        if self.busy < self._places:
            self.busy += 1
            return
        turn = anyio.Event()
        self.waiting.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self.leave()
            else:
                self.waiting.remove(turn)
            raise

    def leave(self) -> None:
        """Gives the place to the next waiting request."""
        if self.waiting:
            self.waiting.popleft().set()
        else:
            self.busy -= 1


class Threads:
    """As many threads as there is work at a time, which limiters bound."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job[Any]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._unfinished = 0

    async def run(self, work: Callable[[], Result], limiter: Lane) -> Result:
        """The result of `work`, which runs in a thread and in the context of the caller, or what it raises, once the
        limiter has a place.
        """
        await limiter.enter()
        try:
            loop = asyncio.get_running_loop()
            job = _Job(work, copy_context(), loop, loop.create_future())
            self._put(job)
            await job.ended()
        finally:
            limiter.leave()
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]  # it is set when there is no error

    def _put(self, job: _Job[Any]) -> None:
        with self._lock:
            self._unfinished += 1
            self._jobs.put(job)
            if self._unfinished <= self._threads:
                return
            self._threads += 1
        threading.Thread(target=self._work, name="handler", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._threads -= 1
                        return
                continue
            job.run()
            with self._lock:
                self._unfinished -= 1
            with suppress(RuntimeError):  # the loop may have ended without waiting
                job.loop.call_soon_threadsafe(job.tell)
            del job


def process_threads() -> Threads:
    """The threads of this process, whichever service they work for; a forked process has none of its parent's."""
    return _threads_of(os.getpid())


class WriteLanes:
    """The lanes of one process, which has so many threads that write."""

    def __init__(self, threads: int, pool: Threads) -> None:
        self._pool = pool
        self._lanes = Lanes(max(threads - 1, 1))
        self._phones: dict[str, int] = {}

    async def run(self, owner: Hashable, limiter: Lane, work: Callable[[], Result]) -> Result:
        """Runs `work` in a thread when a place of its owner is free, and returns its result."""
        return await self._lanes.run(owner, lambda: self._pool.run(work, limiter))

    def owner_of(self, phone: str) -> Hashable:
        """The workspace of a phone when it synced last; the phone itself if that is not known."""
        return self._phones.get(phone, phone)

    def note_phone(self, phone: str, workspace_id: int) -> None:
        if self._phones.get(phone) != workspace_id:
            if len(self._phones) >= PHONES_KEPT:
                self._phones.clear()
            self._phones[phone] = workspace_id


@cache
def _threads_of(_process_id: int) -> Threads:
    return Threads()


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


class Lanes:
    """A lane for each owner with requests in it: a workspace, or who is not known to belong to one yet."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._lanes: dict[Hashable, Lane] = {}

    def count_waiting(self, owner: Hashable) -> int:
        lane = self._lanes.get(owner)
        return 0 if lane is None else len(lane.waiting)

    async def run(self, owner: Hashable, work: Callable[[], Awaitable[Result]]) -> Result:
        lane = self._lanes.setdefault(owner, Lane(self._places))
        try:
            await lane.enter()
            try:
                return await work()
            finally:
                lane.leave()
        finally:
            if not lane.busy:
                self._lanes.pop(owner, None)
