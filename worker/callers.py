"""Who calls the receivers of a leased queue, outside of the dispatcher's thread."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from relayboard.base.tracing import Causes, caused_by
from worker.http.safe_http import SafeHttp

logger = logging.getLogger("relayboard.dispatcher")

Item = TypeVar("Item")
Result = TypeVar("Result")
Ask = Callable[[Item], Awaitable[Item | None]]
"""Asks whether a call may still be made, and takes down that it is; None if not."""


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
