"""Threads for work that waits for the database. To hand work to a thread and its result back costs less than half
of what `anyio.to_thread` takes, which was an eighth of a short list.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import anyio

from handlers.lanes import Lane

IDLE_SECONDS = 10.0
"""A thread that had nothing to do for so long ends."""

Result = TypeVar("Result")


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


@cache
def _threads_of(_process_id: int) -> Threads:
    return Threads()
