"""A thread with an event loop, which does for many exchanges what would take a thread for each: to hand the interpreter
from thread to thread takes longer than all that is done for a request.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")
Work = Coroutine[Any, Any, Result]


class LoopThread:
    """Ends when it is told to and the work that was begun has ended."""

    def __init__(self, name: str, *, at_end: Callable[[], None]) -> None:
        """`at_end` is called in the thread when no further work comes."""
        self._loop = asyncio.new_event_loop()
        self._at_end = at_end
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Not in a process that was forked from the one that began it."""
        return self._thread.is_alive()

    def begin(self, works: Iterable[Work[None]]) -> None:
        """Has the thread do these, at a time; they handle their errors themselves."""
        self._loop.call_soon_threadsafe(self._begin, list(works))

    def ask(self, work: Work[Result]) -> Future[Result]:
        """Has the thread do this, and tell what became of it."""
        future: Future[Result] = Future()
        self.begin([_tell(work, future)])
        return future

    def end(self) -> None:
        """No further work comes."""
        self._loop.call_soon_threadsafe(self._end)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _begin(self, works: Iterable[Work[None]]) -> None:
        for work in works:
            task = self._loop.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._stop_if_idle()

    def _end(self) -> None:
        self._is_ending = True
        self._at_end()
        self._stop_if_idle()

    def _stop_if_idle(self) -> None:
        if self._is_ending and not self._tasks:
            # Connections that were just ended are closed in the next rounds of the loop.
            self._loop.call_soon(self._loop.call_soon, self._loop.stop)


async def _tell(work: Work[Result], future: Future[Result]) -> None:
    try:
        future.set_result(await work)
    except BaseException as error:
        future.set_exception(error)
