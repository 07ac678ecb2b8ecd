"""Fair turns of workspaces: the one that was served longest ago is next, and none takes all threads of a job."""

import threading
from collections.abc import Callable, Iterable, Sequence

from persistence.database import Transaction
from worker.runtime import Runtime

REMEMBERED = 10_000

ListDue = Callable[[Transaction], Sequence[int]]
"""The workspaces for which something may be due."""
Work = Callable[[int], bool]
"""Does a little of what is due in a workspace; whether there was anything."""


class Turns:
    """Chooses the workspace that the next thread of a job serves; each is served by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._served: dict[int, None] = {}
        self._busy: set[int] = set()
        self._missed: set[int] = set()

    def serve(self, due: Iterable[int], work: Work) -> bool:
        """Does the work of the first workspace in turn that has any; returns whether more may be due. A workspace that
        other threads serve is left to them, and they check it once more.
        """
        for workspace_id in self._order(due):
            if not self._take(workspace_id):
                continue
            # Whose work meets an error has had its turn: it would come before all others every time.
            has_worked = True
            try:
                has_worked = work(workspace_id)
            finally:
                was_missed = self._leave(workspace_id, has_worked=has_worked)
            if has_worked or was_missed:
                return True
        return False

    def _order(self, due: Iterable[int]) -> list[int]:
        with self._lock:
            served = {workspace_id: position for position, workspace_id in enumerate(self._served, start=1)}
        return sorted(due, key=lambda workspace_id: (served.get(workspace_id, 0), workspace_id))

    def _take(self, workspace_id: int) -> bool:
        with self._lock:
            if workspace_id in self._busy:
                self._missed.add(workspace_id)
                return False
            self._busy.add(workspace_id)
            return True

    def _leave(self, workspace_id: int, *, has_worked: bool) -> bool:
        """Ends a turn; returns whether another thread asked for this workspace meanwhile."""
        with self._lock:
            self._busy.discard(workspace_id)
            if has_worked:
                self._served.pop(workspace_id, None)
                self._served[workspace_id] = None
                if len(self._served) > REMEMBERED:
                    del self._served[next(iter(self._served))]
            was_missed = workspace_id in self._missed
            self._missed.discard(workspace_id)
            return was_missed


def begin_turns(runtime: Runtime, list_due: ListDue, work: Work) -> Callable[[], bool]:
    """The step that serves the next workspace in turn of those with due work."""
    turns = Turns()

    def step() -> bool:
        # Read outside of a writing transaction, which on SQLite would block all other writers.
        with runtime.database.reading() as tx:
            due = list_due(tx)
        return turns.serve(due, work)

    return step
