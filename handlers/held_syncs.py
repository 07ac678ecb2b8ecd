"""Syncs of phones that brought messages or calls: their answer waits a moment for what flows reply. The published app
asks when an SMS arrives, and then after ten minutes: whoever writes by a phone would have the reply only then.

Who waits holds neither a thread nor a database connection nor a lock, so nobody else waits with it. One task of a
process looks for all of them whether their messages are handled. Without them nothing runs.
"""

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType

from handlers.asgi.plain_responses import ClientGone
from handlers.threads import Lane, Threads
from persistence.database import Database
from persistence.errors import DatabaseError
from persistence.relayers.sync import Arrivals, leave_unhandled

LOOK_SECONDS = 0.2
SHARE_OF_CONNECTIONS = 4
"""A quarter of the connections of a process may be held; what wants more is answered at once."""
SHARE_OF_WORKSPACE = 2


@dataclass(slots=True, eq=False)
class _Held:
    arrivals: Arrivals
    ended: "asyncio.Future[None]"

    def end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


class HeldSyncs:
    """The held syncs of a process: at most `most`, half of them of one workspace, each for at most `seconds`; none
    with 0."""

    def __init__(self, database: Database, pool: Threads, *, most: int, seconds: float) -> None:
        self._database, self._pool = database, pool
        self._most, self._seconds = max(1, most), seconds
        self._taken: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._lane = Lane(1)
        self._held: list[_Held] = []
        self._looking: asyncio.Task[None] | None = None
        self._is_stopping = False

    @property
    def count(self) -> int:
        """How many places are taken."""
        return self._taken.total()

    def stop(self) -> None:
        """Lets all go on, because the process stops."""
        self._is_stopping = True
        for each in self._held:
            each.end()

    def place(self) -> "Place":
        return Place(self)

    def take(self, workspace_id: int) -> bool:
        """Takes a place if there is one; called by the threads of requests."""
        with self._lock:
            of_workspace = max(1, self._most // SHARE_OF_WORKSPACE)
            is_full = self._taken.total() >= self._most or self._taken[workspace_id] >= of_workspace
            if self._is_stopping or self._seconds == 0 or is_full:
                return False
            self._taken[workspace_id] += 1
            return True

    def give_back(self, workspace_id: int) -> None:
        with self._lock:
            self._taken[workspace_id] -= 1
            if not self._taken[workspace_id]:
                del self._taken[workspace_id]

    async def wait(self, arrivals: Arrivals, until_gone: Callable[[], Awaitable[None]]) -> None:
        """Waits until these are handled, the time is over or the process stops. Raises ClientGone if the phone went."""
        held = _Held(arrivals, asyncio.get_running_loop().create_future())
        self._held.append(held)
        if self._is_stopping:
            held.end()
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        gone = asyncio.ensure_future(until_gone())
        try:
            await asyncio.wait((gone, held.ended), timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                gone.result()
                raise ClientGone
        finally:
            gone.cancel()
            self._held.remove(held)
            if not self._held and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _look(self) -> None:
        """Looks again and again what is handled, as long as somebody waits."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            waiting = list(self._held)
            with contextlib.suppress(DatabaseError):  # it may return; otherwise they wait for their whole time
                awaited = [each.arrivals for each in waiting]
                left = await self._pool.run(partial(self._read, awaited), self._lane)
                for each, arrivals in zip(waiting, left, strict=True):
                    each.arrivals = arrivals
                    if not arrivals:
                        each.end()

    def _read(self, arrivals: Sequence[Arrivals]) -> list[Arrivals]:
        with self._database.reading() as tx:
            return leave_unhandled(tx, arrivals)


class Place:
    """The place of one sync, which it takes only if there is something to wait for."""

    def __init__(self, syncs: HeldSyncs) -> None:
        self._syncs = syncs
        self._workspace_id: int | None = None

    def take(self, workspace_id: int) -> bool:
        """Whether the sync may be held; asked again if its unit of work is run again, perhaps for another workspace."""
        if self._workspace_id != workspace_id:
            self.leave()
            if self._syncs.take(workspace_id):
                self._workspace_id = workspace_id
        return self._workspace_id is not None

    def leave(self) -> None:
        if self._workspace_id is not None:
            self._syncs.give_back(self._workspace_id)
            self._workspace_id = None

    def __enter__(self) -> "Place":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
