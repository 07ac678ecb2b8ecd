"""Renews the leases of contacts during long sprints."""

import contextlib
import logging
import threading
from collections.abc import Iterator
from datetime import timedelta

from persistence.contacts.leases import LEASE, ContactLeases, renew_leases
from persistence.database import Database
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.worker")

RENEWED_AFTER = LEASE / 3
LOOK_SECONDS = LEASE.total_seconds() / 6


class LeaseRenewal:
    """Leases of contacts, which the threads that work with them renew before they expire."""

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


class LeaseKeeper:
    """Renews leases in a separate thread, because single calls may take longer than a lease."""

    def __init__(self, runtime: Runtime) -> None:
        self._database = runtime.database
        self._lock = threading.Lock()
        self._kept: set[LeaseRenewal] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
        runtime.closing.callback(self._ended.set)

    @contextlib.contextmanager
    def keep(self, leases: ContactLeases) -> Iterator[LeaseRenewal]:
        """Renews leases until the block ends."""
        renewal = LeaseRenewal(self._database, leases)
        with self._lock:
            self._kept.add(renewal)
            if not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()
        try:
            yield renewal
        finally:
            with self._lock:
                self._kept.discard(renewal)

    def _run(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            with self._lock:
                kept = list(self._kept)
            for renewal in kept:
                try:
                    renewal.refresh()
                except Exception:
                    # The database may be unavailable for a short time; the next attempt comes before the lease expires.
                    logger.warning("a lease could not be renewed", exc_info=True)
