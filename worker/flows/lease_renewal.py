"""Holding the turns of contacts while their sprints take long."""

import threading
from datetime import timedelta

from persistence.contacts.leases import LEASE, ContactLeases, renew_leases
from persistence.database import Database

RENEWED_AFTER = LEASE / 3


class LeaseRenewal:
    """Turns that are renewed by whoever works under them, from any thread, before they can run out."""

    def __init__(self, database: Database, leases: ContactLeases) -> None:
        self._database = database
        self._lock = threading.Lock()
        self.leases = leases

    def refresh(self) -> None:
        """Renews the turns if a third of their time is over."""
        with self._lock:
            left = self.leases.until - self._database.clock()
            if left <= LEASE - RENEWED_AFTER and left > timedelta():
                self.leases = self._database.write(lambda tx: renew_leases(tx, self.leases))
