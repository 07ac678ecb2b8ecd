"""What threads report to one that works them off in batches. It is woken when there is something and when there is
enough, and not for each: to wake a thread takes longer than to put something here.
"""

import threading
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


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
