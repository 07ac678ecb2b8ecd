"""Renewing the leases of contacts while their sprints take long."""

import threading
from datetime import timedelta

from persistence.contacts.leases import LEASE, ContactLeases, renew_leases
from persistence.database import Database

RENEWED_AFTER = LEASE / 3


class LeaseRenewal:
    """Leases of contacts, renewed from any thread by the work that is done under them before they run out."""

    def __init__(self, database: Database, leases: ContactLeases) -> None:
        self._database = database
        self._lock = threading.Lock()
        self.leases = leases

    def refresh(self) -> None:
        """Renews the leases if a third of their time is over."""
        with self._lock:
            left = self.leases.until - self._database.clock()
            if left <= LEASE - RENEWED_AFTER and left > timedelta():
                self.leases = self._database.write(lambda tx: renew_leases(tx, self.leases))
