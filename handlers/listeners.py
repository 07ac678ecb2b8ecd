"""Clients that follow their workspace live. One task of a process asks the clocks of the followed workspaces, by one
statement, whether anything changed, and wakes their listeners; changes are read once for all listeners that are at the
same time of the clock. A listener holds neither a thread nor a database connection. Without listeners nothing runs.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

import anyio
import anyio.to_thread

from handlers.asgi.plain_responses import Refusal
from persistence.database import Database, Transaction
from persistence.errors import DatabaseError
from persistence.sql.columns import time_text
from persistence.stream import Change, read_changes, read_clocks
from persistence.workspaces.records import Workspace

logger = logging.getLogger("relayboard.api")

LOOK_SECONDS = 0.25
HEARTBEAT_SECONDS = 15.0
MOST_CHANGES = 500
"""More changes at once are not sent: the client is told to load its lists again."""
OLDEST = timedelta(days=1)
BEFORE_FIRST = timedelta(hours=1)
"""No transaction takes so long: the first change of a workspace comes later than that."""
RETRY_MILLISECONDS = 2000

Result = TypeVar("Result")


@dataclass(slots=True)
class _Room:
    """The listeners of one workspace. `clock` is the last time that was seen, `moved` wakes those that wait for a later
    one, `read` are the changes that were read last, with the times between which they lie.
    """

    workspace: Workspace
    listeners: int = 0
    clock: datetime | None = None
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    read: tuple[datetime, datetime, list[Change] | None] | None = None

    def advance(self, clock: datetime) -> None:
        if self.clock is None or clock > self.clock:
            self.clock = clock
            self.wake()

    def wake(self) -> None:
        moved, self.moved = self.moved, asyncio.Event()
        moved.set()


class Listeners:
    """The listeners of a process: at most `most`, and at most `most_of_workspace` of one workspace. A stream ends after
    `seconds`, so that a client whose access ended is refused when it comes again. `read` reads the changes, as
    `persistence.stream.read_changes` does.
    """

    def __init__(
        self,
        database: Database,
        *,
        most: int,
        most_of_workspace: int,
        seconds: float,
        read: Callable[[Transaction, Workspace, datetime, datetime, int], list[Change] | None] = read_changes,
    ) -> None:
        self._database, self._read_from = database, read
        self._most, self._seconds = most, seconds
        self.most_of_workspace = most_of_workspace
        self._circles: Counter[str] = Counter()
        self._rooms: dict[int, _Room] = {}
        self._looking: asyncio.Task[None] | None = None
        self._thread: anyio.CapacityLimiter | None = None
        self._is_stopping = False

    @property
    def count(self) -> int:
        """How many listeners there are."""
        return sum(room.listeners for room in self._rooms.values())

    def stop(self) -> None:
        """Ends all streams, because the process stops."""
        self._is_stopping = True
        for room in self._rooms.values():
            room.wake()

    def open(
        self,
        workspace: Workspace,
        kinds: Collection[str],
        last_id: str | None,
        circles: Mapping[str, int] | None = None,
    ) -> AsyncIterator[bytes]:
        """The events after the one with this id, and those that follow. `circles` are names of what the listener is one
        of, with the most listeners that each may have. Raises Refusal (429) if there are too many listeners."""
        room, within = self._rooms.get(workspace.id), circles or {}
        is_full = self.count >= self._most or (room is not None and room.listeners >= self.most_of_workspace)
        if is_full or any(self._circles[name] >= most for name, most in within.items()):
            raise Refusal(429, "Too many streams are open; try again later.", {"Retry-After": "30"})
        return self._follow(workspace, frozenset(kinds), last_id, tuple(within))

    async def _follow(
        self, workspace: Workspace, kinds: frozenset[str], last_id: str | None, circles: tuple[str, ...]
    ) -> AsyncIterator[bytes]:
        room = self._enter(workspace)
        self._circles.update(circles)
        try:
            clock = await self._current(room)
            position = read_position(last_id, clock) if last_id is not None else clock
            yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
            if position is None:
                yield _event("reset", clock)
                position = clock
            elif last_id is None:
                yield _event("ready", clock)
            ends_on = anyio.current_time() + self._seconds
            while True:
                if room.clock is not None and room.clock > position:
                    upto = room.clock
                    changes = await self._read(room, position, upto)
                    yield _event("reset", upto) if changes is None else _render(changes, kinds, upto)
                    position = upto
                left = ends_on - anyio.current_time()
                if left <= 0 or self._is_stopping:
                    return
                if not await _is_woken(room, position, min(left, HEARTBEAT_SECONDS)) and left > HEARTBEAT_SECONDS:
                    yield b": still here\n\n"
        finally:
            self._leave(room)
            self._circles = +(self._circles - Counter(circles))

    def _enter(self, workspace: Workspace) -> _Room:
        room = self._rooms.setdefault(workspace.id, _Room(workspace))
        room.listeners += 1
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return room

    def _leave(self, room: _Room) -> None:
        room.listeners -= 1
        if not room.listeners:
            self._rooms.pop(room.workspace.id, None)
        if not self._rooms and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look(self) -> None:
        """Asks again and again whether anything changed, as long as somebody listens."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with contextlib.suppress(DatabaseError):  # it may return; streams wait until then
                await self._ask(list(self._rooms))

    async def _ask(self, workspace_ids: list[int]) -> None:
        clocks = await self._run(lambda: self._read_clocks(workspace_ids))
        for workspace_id, clock in clocks.items():
            room = self._rooms.get(workspace_id)
            if room is not None:
                room.advance(clock)

    def _read_clocks(self, workspace_ids: list[int]) -> dict[int, datetime]:
        with self._database.reading() as tx:
            return read_clocks(tx, workspace_ids)

    async def _current(self, room: _Room) -> datetime:
        """The workspace's clock now; in a workspace without any change the present."""
        await self._ask([room.workspace.id])
        if room.clock is None:
            room.clock = self._database.clock() - BEFORE_FIRST
        return room.clock

    async def _read(self, room: _Room, after: datetime, upto: datetime) -> list[Change] | None:
        """The changes between two times, or None if there are too many."""
        async with room.reading:
            if room.read is None or room.read[:2] != (after, upto):
                changes = await self._run(lambda: self._read_changes(room.workspace, after, upto))
                room.read = (after, upto, changes)
            return room.read[2]

    def _read_changes(self, workspace: Workspace, after: datetime, upto: datetime) -> list[Change] | None:
        with self._database.reading() as tx:
            return self._read_from(tx, workspace, after, upto, MOST_CHANGES)

    async def _run(self, work: Callable[[], Result]) -> Result:
        """Runs work in the one thread of the listeners."""
        if self._thread is None:
            self._thread = anyio.CapacityLimiter(1)
        return await anyio.to_thread.run_sync(work, limiter=self._thread)


async def _is_woken(room: _Room, position: datetime, seconds: float) -> bool:
    """Waits until the clock has moved beyond a position; False if nothing happened for so long."""
    moved = room.moved
    if room.clock is not None and room.clock > position:
        return True
    with anyio.move_on_after(seconds):
        await moved.wait()
        return True
    return False


def read_position(text: str, clock: datetime) -> datetime | None:
    """The time in the id of an event; None if it is not one, or too old, or after the clock."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None or text != time_text(moment):
        return None
    return moment if clock - OLDEST <= moment <= clock else None


def _event(name: str, moment: datetime, data: str = "{}") -> bytes:
    return f"event: {name}\nid: {time_text(moment)}\ndata: {data}\n\n".encode()


def _render(changes: list[Change], kinds: frozenset[str], upto: datetime) -> bytes:
    """Events for those kinds. Only the last one has an id: a client that lost the others gets all of them again."""
    parts = []
    for change in changes:
        if change.right in kinds:
            name = f"{change.kind}_gone" if change.is_gone else change.kind
            parts.append(f"event: {name}\ndata: {change.record}\n\n")
    # An id without data dispatches no event in a browser, but counts as the last id.
    return ("".join(parts) + f"id: {time_text(upto)}\n\n").encode()
