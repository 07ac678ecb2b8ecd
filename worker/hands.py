"""Sharing the threads that call receivers, so that a slow or dead receiver does not delay the others."""

from collections import Counter
from collections.abc import Iterable

HANDS = 64
HANDS_PER_RECEIVER = 8
HANDS_FOR_SILENT = 1
REMEMBERED = 10_000


class Hands:
    """Who occupies how many hands. A receiver that gave no answer the last time gets one only, until it answers."""

    def __init__(self, total: int = HANDS, per_receiver: int = HANDS_PER_RECEIVER) -> None:
        self.total = total
        self.per_receiver = per_receiver
        self._busy: Counter[str] = Counter()
        self._silent: set[str] = set()
        self._served: dict[str, None] = {}

    @property
    def busy(self) -> int:
        return self._busy.total()

    def take(self, receiver: str) -> None:
        """One more call to this receiver begins."""
        self._busy[receiver] += 1
        self._served.pop(receiver, None)
        self._served[receiver] = None
        if len(self._served) > REMEMBERED:
            del self._served[next(iter(self._served))]

    def release(self, receiver: str, *, has_answered: bool) -> None:
        """A call to this receiver has ended."""
        self._busy[receiver] -= 1
        if self._busy[receiver] <= 0:
            del self._busy[receiver]
        if has_answered:
            self._silent.discard(receiver)
        else:
            self._silent.add(receiver)

    def share(self, receivers: Iterable[str]) -> dict[str, int]:
        """How many more hands each of these receivers gets.

        In rounds of one hand each, beginning with those that occupy fewest and were served longest ago.
        """
        served = {receiver: turn for turn, receiver in enumerate(self._served, start=1)}
        waiting = sorted(receivers, key=lambda receiver: (self._busy[receiver], served.get(receiver, 0)))
        rooms: Counter[str] = Counter()
        free = self.total - self.busy
        while free > 0 and waiting:
            waiting = [receiver for receiver in waiting if self._has_room(receiver, rooms[receiver])][:free]
            rooms.update(waiting)
            free -= len(waiting)
        return {receiver: room for receiver, room in rooms.items() if room}

    def _has_room(self, receiver: str, given: int) -> bool:
        limit = HANDS_FOR_SILENT if receiver in self._silent else self.per_receiver
        return self._busy[receiver] + given < limit
