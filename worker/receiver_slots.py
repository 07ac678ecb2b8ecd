"""Receiver slots (a bulkhead): how many concurrent calls of a process each receiver may use, so that a slow or dead
receiver does not delay the others."""

from collections import Counter
from collections.abc import Iterable

REMEMBERED = 10_000
SILENT_PART = 4
"""Receivers that give no answer occupy at most a quarter of all slots together, and of those an owner may have."""


def owner_of(receiver: str) -> str:
    """The owner of a receiver."""
    return receiver.partition(" ")[0]


class ReceiverSlots:
    """A receiver begins with `first` slots and gets one more for each response, up to `most`. A receiver that did not
    respond last time has one slot until it responds, and then begins again with `first`. No receiver takes more than
    the others leave free: one alone gets up to half of all slots, two get a third each, so that there are always some
    for the next receiver.

    A receiver `7 name` belongs to the owner `7`. The receivers of an owner have up to `most_per_owner` slots together,
    three quarters of all if nothing else is said, and owners take turns before their receivers do.
    """

    def __init__(self, total: int, *, first: int, most: int | None = None, most_per_owner: int | None = None) -> None:
        self.total = total
        self.most_per_owner = total * 3 // 4 if most_per_owner is None else most_per_owner
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
        """Count the start of a call to this receiver."""
        self._busy[receiver] += 1
        self._served.pop(receiver, None)
        self._served[receiver] = None
        if len(self._served) > REMEMBERED:
            oldest = next(iter(self._served))
            del self._served[oldest]
            self._grown.pop(oldest, None)

    def release(self, receiver: str, *, has_answered: bool) -> None:
        """Count the end of a call to this receiver."""
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
        """How many more slots each of these receivers gets. They get one slot each in turn, beginning with the owners,
        and then the receivers, that use the fewest slots and were served longest ago.
        """
        owned, silent = self._count_owned()
        waiting = self._order(receivers, owned)
        rooms: Counter[str] = Counter()
        free = self.total - self.busy
        free_for_silent = self.total // SILENT_PART - silent.total()
        while free > 0 and waiting:
            going_on = []
            for receiver in waiting:
                is_silent, owner = receiver in self._silent, owner_of(receiver)
                if free <= 0 or (is_silent and free_for_silent <= 0) or not self._has_room(receiver, rooms, free):
                    continue
                if owned[owner] >= self.most_per_owner:
                    continue
                if is_silent and silent[owner] >= max(self.most_per_owner // SILENT_PART, 1):
                    continue
                rooms[receiver] += 1
                owned[owner] += 1
                silent[owner] += is_silent
                free -= 1
                free_for_silent -= is_silent
                going_on.append(receiver)
            waiting = going_on
        return dict(rooms)

    def _count_owned(self) -> tuple[Counter[str], Counter[str]]:
        """The busy slots of each owner: all, and those of silent receivers."""
        owned: Counter[str] = Counter()
        silent: Counter[str] = Counter()
        for receiver, busy in self._busy.items():
            owned[owner_of(receiver)] += busy
            silent[owner_of(receiver)] += busy if receiver in self._silent else 0
        return owned, silent

    def _order(self, receivers: Iterable[str], owned: Counter[str]) -> list[str]:
        served = {receiver: position for position, receiver in enumerate(self._served, start=1)}
        turns = Counter(owned)
        ranked = []
        for receiver in sorted(receivers, key=lambda receiver: (self._busy[receiver], served.get(receiver, 0))):
            ranked.append((turns[owner_of(receiver)], self._busy[receiver], served.get(receiver, 0), receiver))
            turns[owner_of(receiver)] += 1
        return [receiver for *_, receiver in sorted(ranked)]

    def _has_room(self, receiver: str, rooms: Counter[str], free: int) -> bool:
        limit = 1 if receiver in self._silent else self._grown.get(receiver, self.first)
        return self._busy[receiver] + rooms[receiver] < min(limit, free)
