"""Rate limits: each API process reserves small batches of requests from the workspace's limit and then uses them. What
strangers ask, each process counts by address.
"""

import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address

from starlette.types import Scope

from handlers.asgi.plain_responses import Refusal
from persistence.database import Database
from persistence.errors import DatabaseError, fault_of
from persistence.sql.engines import Busy
from persistence.tokens import read_allowance, take_allowance

BATCHES_PER_LIMIT = 100
MOST_ADDRESSES = 10_000
"""That are counted at a time; the one that came longest ago is forgotten."""
NETWORK_BITS = 64
"""Of an address of version 6 that stand for all of a connection's."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The state of a rate limit after a request."""

    limit: int
    remaining: int
    reset_seconds: int
    is_granted: bool


@dataclass(slots=True)
class _Purse:
    own: int
    shared: int
    ends_on: datetime


@dataclass(slots=True)
class _Debt:
    requests: int
    ends_on: datetime


class RateLimiter:
    """Allows requests per workspace and scope, at most `limit` per `period` in all processes together. Because
    processes reserve requests, a request may be refused up to a hundredth of the limit too early. The limit is never
    exceeded, with two exceptions: while another transaction holds SQLite's write lock, a request does not wait for it,
    and while nothing can be written, requests that read are answered. Each process then allows what is left by its own
    count, and records it as soon as it can write.
    """

    def __init__(self, database: Database, limit: int, period: timedelta) -> None:
        self.database = database
        self.limit = limit
        self.period = period
        self.batch = max(1, limit // BATCHES_PER_LIMIT)
        self._purses: dict[tuple[int, str], _Purse] = {}
        self._debts: dict[tuple[int, str], _Debt] = {}
        self._lock = threading.Lock()

    def spend_known(self, workspace_id: int, scope: str) -> Allowance | None:
        """Use a request that this process has reserved; None if it must reserve more in the database."""
        now = self.database.clock()
        with self._lock:
            purse = self._purses.get((workspace_id, scope))
            if purse is None or now >= purse.ends_on or purse.own < 1:
                return None
            purse.own -= 1
            return self._allowance(purse, now, granted=True)

    def spend(self, workspace_id: int, scope: str) -> Allowance:
        """Use a request, reserving a batch in the database if there is none; runs in a database thread."""
        known = self.spend_known(workspace_id, scope)
        if known is not None:
            return known
        try:
            return self._take(workspace_id, scope)
        except Busy:
            return self._lend(workspace_id, scope)
        except DatabaseError as error:
            if fault_of(error) is None:
                raise
            return self._lend(workspace_id, scope)

    def _take(self, workspace_id: int, scope: str) -> Allowance:
        key = workspace_id, scope
        with self.database.writing(patient=False) as tx:
            now = tx.now
            with self._lock:
                debt = self._debts.pop(key, None)
            owed = debt.requests if debt is not None and now < debt.ends_on else 0
            granted, left, ends_on = take_allowance(
                tx, workspace_id, scope, limit=self.limit, period=self.period, wanted=owed + self.batch
            )
        purse = _Purse(max(0, granted - owed - 1), left, ends_on)
        with self._lock:
            self._purses[key] = purse
        return self._allowance(purse, now, granted=granted > owed)

    def _lend(self, workspace_id: int, scope: str) -> Allowance:
        """Allow a request that is recorded later, if the readable state of the limit allows one more."""
        with self.database.reading() as tx:
            now = tx.now
            left, ends_on = read_allowance(tx, workspace_id, scope, limit=self.limit, period=self.period)
        with self._lock:
            debt = self._debts.get((workspace_id, scope))
            if debt is None or now >= debt.ends_on:
                debt = self._debts[workspace_id, scope] = _Debt(0, ends_on)
            is_granted = debt.requests < left
            debt.requests += is_granted
            purse = _Purse(0, left - debt.requests, ends_on)
        return self._allowance(purse, now, granted=is_granted)

    def _allowance(self, purse: _Purse, now: datetime, *, granted: bool) -> Allowance:
        seconds = max(1, math.ceil((purse.ends_on - now).total_seconds()))
        return Allowance(self.limit, purse.own + purse.shared, seconds, granted)


class Calls:
    """How often each address called each thing in the current window of this process."""

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit, self._seconds = limit, seconds
        self._windows: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def spend(self, thing: str, address: str) -> None:
        """Raises Refusal: 429."""
        key, now = (thing, address), time.monotonic()
        began, count = self._windows.pop(key, (now, 0))
        if now >= began + self._seconds:
            began, count = now, 0
        self._windows[key] = began, count + 1
        if len(self._windows) > MOST_ADDRESSES:
            self._windows.popitem(last=False)
        if count >= self._limit:
            wait = {"Retry-After": str(int(began + self._seconds - now) + 1)}
            raise Refusal(429, "Too many calls from this address; try again later.", wait)


def address_of(scope: Scope) -> str:
    """The address of the client; of version 6 the network, in which one client has all addresses."""
    text = scope["client"][0] if scope.get("client") else ""
    try:
        address = ip_address(text)
    except ValueError:
        return str(text)
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> NETWORK_BITS << NETWORK_BITS))
