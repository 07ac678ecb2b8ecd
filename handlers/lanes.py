"""Places for the requests of one workspace, so that they leave some to those of others."""

from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

import anyio

Result = TypeVar("Result")


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
