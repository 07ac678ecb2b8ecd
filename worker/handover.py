"""What a sender leaves to the process of jobs: a flood of which little is left is no longer a flood."""

from collections.abc import Iterable

from persistence.sql.due_work import Share
from worker.runtime import Runtime


class HandOver:
    """Remembers for whom a sender had much to do, and wakes the process of jobs for the rest of it, which would
    otherwise wait for the next sweep.
    """

    def __init__(self, runtime: Runtime, kind: str) -> None:
        self._runtime = runtime
        self._kind = kind
        self._known: frozenset[object] = frozenset()
        self._is_due = False

    def see(self, due: Iterable[object]) -> None:
        """These are now those for whom much is due."""
        now = frozenset(due)
        self._is_due = self._is_due or not self._known <= now
        self._known = now

    def finish(self) -> None:
        """Wakes the process of jobs if one of them is no longer among them; not in a transaction, because it would look
        before the end of this one."""
        if self._is_due and self._runtime.share is Share.MUCH:
            self._is_due = False
            self._runtime.database.wake(frozenset({self._kind}))
