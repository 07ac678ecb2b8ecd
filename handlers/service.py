"""What one API process holds: its database, settings, thread pool, and short-lived caches."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from handlers.rate_limiter import RateLimiter
from persistence.database import Database
from persistence.tokens import Credentials, find_credentials, note_use, renew_hash
from relayboard.settings import Settings

CREDENTIALS_KEPT_SECONDS = 1.0
CREDENTIALS_KEPT = 1000


@dataclass(slots=True)
class Service:
    """The parts of a running API process that requests share."""

    settings: Settings
    database: Database
    threads: int
    rate_limiter: RateLimiter
    callback_limiter: RateLimiter
    _known: dict[str, tuple[float, Credentials]] = field(default_factory=dict)
    _limiter: anyio.CapacityLimiter | None = None

    @property
    def limiter(self) -> anyio.CapacityLimiter:
        """The few threads that talk to the database: more of them make everybody slower."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self.threads)
        return self._limiter

    def known_credentials(self, key: str) -> Credentials | None:
        """The credentials of a token that was looked up within the last second."""
        kept = self._known.get(key)
        if kept is None or time.monotonic() - kept[0] > CREDENTIALS_KEPT_SECONDS:
            return None
        return kept[1]

    def look_up_credentials(self, key: str) -> Credentials | None:
        """The credentials of a token from the database; runs in a database thread."""
        with self.database.reading() as tx:
            former_keys = self.settings.secret_key_fallbacks
            credentials = find_credentials(tx, key, self.settings.secret_key, former_keys)
        if credentials is None:
            return None
        if credentials.last_used_step_due:
            with self.database.writing() as tx:
                note_use(tx, credentials.token_id)
        if credentials.is_hash_former:
            with self.database.writing() as tx:
                renew_hash(tx, credentials.token_id, key, self.settings.secret_key)
        if len(self._known) >= CREDENTIALS_KEPT:
            self._known.clear()
        self._known[key] = (time.monotonic(), credentials)
        return credentials


def state_of(scope: Mapping[str, Any]) -> dict[str, Any]:
    """What the outer layers noted about a request: `request_id`, `body`, `raw_body`, `service`, and more."""
    state: dict[str, Any] = scope["relayboard"]
    return state


def service_of(scope: Mapping[str, Any]) -> Service:
    service: Service = state_of(scope)["service"]
    return service
