"""Receiver slots (a bulkhead): who occupies how many of a process's calls, so that a slow or dead receiver does not
delay the others."""

from collections import Counter
from collections.abc import Iterable

REMEMBERED = 10_000
SILENT_PART = 4
"""Receivers that give no answer occupy at most a quarter of all slots together."""


class ReceiverSlots:
    """A receiver begins with `first` slots, and gets one more for each answer up to `most`.

    One that gave no answer the last time has a single slot until it answers, and then begins anew. No receiver takes
    more than the others leave free: alone it gets up to half of all slots, of two a third each, so that whoever comes
    next always finds some.
    """

    def __init__(self, total: int = 64, *, first: int = 8, most: int | None = None) -> None:
        self.total = total
        self.first = first
        self.most = first if most is None else most
        self._busy: Counter[str] = Counter()
        self._grown: dict[str, int] = {}
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
            oldest = next(iter(self._served))
            del self._served[oldest]
            self._grown.pop(oldest, None)

    def release(self, receiver: str, *, has_answered: bool) -> None:
        """A call to this receiver has ended."""
        self._busy[receiver] -= 1
        if self._busy[receiver] <= 0:
            del self._busy[receiver]
        if not has_answered:
            self._silent.add(receiver)
            self._grown.pop(receiver, None)
        elif receiver in self._silent:
            self._silent.discard(receiver)
        elif self.most > self.first:
            self._grown[receiver] = min(self._grown.get(receiver, self.first) + 1, self.most)

    def share(self, receivers: Iterable[str]) -> dict[str, int]:
        """How many more slots each of these receivers gets.

        One slot each, again and again, beginning with those that occupy fewest and were served longest ago.
        """
        served = {receiver: position for position, receiver in enumerate(self._served, start=1)}
        waiting = sorted(receivers, key=lambda receiver: (self._busy[receiver], served.get(receiver, 0)))
        rooms: Counter[str] = Counter()
        free = self.total - self.busy
        free_for_silent = self.total // SILENT_PART - sum(self._busy[receiver] for receiver in self._silent)
        while free > 0 and waiting:
            going_on = []
            for receiver in waiting:
                is_silent = receiver in self._silent
                if free <= 0 or (is_silent and free_for_silent <= 0) or not self._has_room(receiver, rooms, free):
                    continue
                rooms[receiver] += 1
                free -= 1
                free_for_silent -= is_silent
                going_on.append(receiver)
            waiting = going_on
        return dict(rooms)

    def _has_room(self, receiver: str, rooms: Counter[str], free: int) -> bool:
        limit = 1 if receiver in self._silent else self._grown.get(receiver, self.first)
        occupied = self._busy[receiver] + rooms[receiver]
        return occupied < limit and occupied < max(free, 1)
