"""Holding the turns of contacts while their sprints take long."""

import threading
from datetime import timedelta

from persistence.contacts.leases import LEASE, Turns, renew_turns
from persistence.database import Database

RENEWED_AFTER = LEASE / 3


class TurnKeeper:
    """Turns that are renewed by whoever works under them, from any thread, before they can run out."""

    def __init__(self, database: Database, turns: Turns) -> None:
        self._database = database
        self._lock = threading.Lock()
        self.turns = turns

    def refresh(self) -> None:
        """Renews the turns if a third of their time is over."""
        with self._lock:
            left = self.turns.until - self._database.clock()
            if left <= LEASE - RENEWED_AFTER and left > timedelta():
                self.turns = self._database.write(lambda tx: renew_turns(tx, self.turns))
