"""Schedules writing requests: those of one workspace leave a thread to others. They wait for each other's locks anyway,
and for its clock (`persistence.stamps`). Who waits here has no transaction, which would keep the database from tidying
up what it has changed meanwhile: contacts who are seen by many phones at once would be found ever more slowly.
"""

from collections.abc import Callable, Hashable
from typing import TypeVar

from handlers.lanes import Lane, Lanes
from handlers.threads import Threads

PHONES_KEPT = 10_000

Result = TypeVar("Result")


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
