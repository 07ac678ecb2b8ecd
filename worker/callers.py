"""Who calls the receivers of a leased queue, outside of the dispatcher's thread.

What threads report to one that works them off in batches. It is woken when there is something and when there is enough,
and not for each: to wake a thread takes longer than to put something here.
"""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from relayboard.base.logs import Causes, caused_by
from worker.http.safe_http import SafeHttp

logger = logging.getLogger("relayboard.dispatcher")

Item = TypeVar("Item")
Result = TypeVar("Result")
Ask = Callable[[Item], Awaitable[Item | None]]
"""Asks whether a call may still be made, and takes down that it is; None if not."""

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Finished(Generic[Item, Result]):
    """A call that has ended; without a result, the service itself failed."""

    item: Item
    receiver: str
    result: Result | None
    has_answered: bool


class Callers(ABC, Generic[Item, Result]):
    """Each call always reports its end, or its slot would stay busy forever."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def begin(
        self, calls: Sequence[tuple[str, Item]], asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        """Begins calls of receivers, and returns at once."""

    def end(self) -> None:
        """No further calls come, and none is running."""
        return


class ThreadCallers(Callers[Item, Result]):
    """A thread for each call at a time."""

    def __init__(self, name: str, total: int, call: Callable[[Item], tuple[Result, bool]]) -> None:
        super().__init__(name)
        self._pool = ThreadPoolExecutor(total, thread_name_prefix=name)
        self._work = call

    def begin(
        self, calls: Sequence[tuple[str, Item]], asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        for receiver, item in calls:
            self._pool.submit(self._call, receiver, item, asked_by, report)

    def end(self) -> None:
        self._pool.shutdown()

    def _call(
        self, receiver: str, item: Item, asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        finished: Finished[Item, Result] = Finished(item, receiver, None, has_answered=False)
        try:
            with caused_by(asked_by):
                result, has_answered = self._work(item)
            finished = Finished(item, receiver, result, has_answered)
        except Exception:
            logger.exception("%s: a call failed inside the service", self.name)
        finally:
            report(finished)


class LoopCallers(Callers[Item, Result]):
    """All calls in the thread of the HTTP client, for calls that do nothing but wait for responses: threads for each
    would take longer to hand over to each other than to work.
    """

    def __init__(self, name: str, http: SafeHttp, call: Callable[[Item], Awaitable[tuple[Result, bool]]]) -> None:
        super().__init__(name)
        self._http = http
        self._work = call

    def begin(
        self, calls: Sequence[tuple[str, Item]], asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        self._http.begin([self._call(receiver, item, asked_by, report) for receiver, item in calls])

    async def _call(
        self, receiver: str, item: Item, asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        finished: Finished[Item, Result] = Finished(item, receiver, None, has_answered=False)
        try:
            with caused_by(asked_by):
                result, has_answered = await self._work(item)
            finished = Finished(item, receiver, result, has_answered)
        except Exception:
            logger.exception("%s: a call failed inside the service", self.name)
        finally:
            report(finished)


class Mailbox(Generic[Thing]):
    """One thread takes, any may put."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._things: list[Thing] = []
        self._enough = 1

    def __len__(self) -> int:
        return len(self._things)

    def put(self, thing: Thing) -> None:
        with self._changed:
            self._things.append(thing)
            if len(self._things) == self._enough:
                self._changed.notify()

    def wait(self, seconds: float | None) -> None:
        """Waits until there is something, at most so long."""
        self._wait_for(1, seconds)

    def take(self, most: int, *, enough: int, seconds: float) -> list[Thing]:
        """What came first, after waiting until there is enough, at most so long."""
        with self._changed:
            self._wait_for(enough, seconds)
            taken, self._things = self._things[:most], self._things[most:]
        return taken

    def _wait_for(self, enough: int, seconds: float | None) -> None:
        with self._changed:
            self._enough = enough
            self._changed.wait_for(lambda: len(self._things) >= enough, seconds)
