"""The state of one API process: its database, settings, thread pool, and short-lived caches."""

import time
from dataclasses import dataclass, field

import anyio

from handlers.asgi.rate_limiter import RateLimiter
from handlers.asgi.uploads import UploadPlaces
from handlers.read_lanes import ReadLanes
from handlers.token_notes import TokenNotes
from persistence.database import Database
from persistence.media.store import MediaStore
from persistence.tokens import Credentials, find_credentials
from relayboard.base.settings import Settings

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
    token_notes: TokenNotes
    media_store: MediaStore
    uploads: UploadPlaces
    lanes: ReadLanes
    _known: dict[str, tuple[float, Credentials]] = field(default_factory=dict)
    _limiter: anyio.CapacityLimiter | None = None
    _write_limiter: anyio.CapacityLimiter | None = None

    @property
    def limiter(self) -> anyio.CapacityLimiter:
        """Limits the threads that read from the database: more of them would make all requests slower."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self.threads)
        return self._limiter

    @property
    def write_limiter(self) -> anyio.CapacityLimiter:
        """Limits the threads that write: they may wait for each other's locks, and reads must not wait with them."""
        if self._write_limiter is None:
            self._write_limiter = anyio.CapacityLimiter(self.threads)
        return self._write_limiter

    def known_credentials(self, key: str) -> Credentials | None:
        """The cached credentials of a token that was looked up in the last second."""
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
        self.token_notes.add(credentials, key)
        if len(self._known) >= CREDENTIALS_KEPT:
            self._known.clear()
        self._known[key] = (time.monotonic(), credentials)
        return credentials
