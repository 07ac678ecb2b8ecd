"""The state of one API process: its database, settings, thread pool, and short-lived caches."""

import time
from dataclasses import dataclass, field
from functools import partial

from handlers.asgi.rate_limiter import RateLimiter
from handlers.asgi.uploads import UploadPlaces
from handlers.held_syncs import HeldSyncs
from handlers.listeners import Listeners
from handlers.threads import Lane, ReadLanes, Threads, WriteLanes
from handlers.token_notes import TokenNotes
from persistence.accounts.accounts import Ages
from persistence.accounts.passwords import Passwords
from persistence.accounts.sign_ins import find_by_sign_in
from persistence.database import Database
from persistence.media.store import MediaStore
from persistence.sql.standby import Standby
from persistence.tokens import Credentials, find_credentials
from persistence.workspaces.records import is_origin
from relayboard.base.settings import Settings

CREDENTIALS_KEPT_SECONDS = 1.0
CREDENTIALS_KEPT = 1000
ORIGINS_KEPT_SECONDS = 5.0
"""Pages ask before almost every call, and settings of workspaces change rarely."""
ORIGINS_KEPT = 1000
PASSWORDS_AT_ONCE = 2


@dataclass(slots=True)
class Service:
    """The parts of a running API process that requests share.

    `limiter` limits the threads that read from the database: more of them would make all requests slower.
    `write_limiter` limits those that write: they may wait for each other's locks, and reads must not wait with them.
    `password_limiter` limits those that compare passwords, each of which takes 64 MiB and a tenth of a second.
    """

    settings: Settings
    database: Database
    threads: int
    rate_limiter: RateLimiter
    callback_limiter: RateLimiter
    token_notes: TokenNotes
    media_store: MediaStore
    uploads: UploadPlaces
    pool: Threads
    lanes: ReadLanes
    write_lanes: WriteLanes
    listeners: Listeners
    visitors: Listeners
    held_syncs: HeldSyncs
    passwords: Passwords
    standby: Standby | None = None
    _known: dict[str, tuple[float, Credentials]] = field(default_factory=dict)
    _origins: dict[tuple[str, int | None], tuple[float, bool]] = field(default_factory=dict)
    limiter: Lane = field(init=False)
    write_limiter: Lane = field(init=False)
    password_limiter: Lane = field(init=False)

    def __post_init__(self) -> None:
        self.limiter, self.write_limiter = Lane(self.threads), Lane(self.threads)
        self.password_limiter = Lane(PASSWORDS_AT_ONCE)

    @property
    def secret_keys(self) -> tuple[str, ...]:
        """The secret key and its predecessors."""
        return (self.settings.secret_key, *self.settings.secret_key_fallbacks)

    def look_up_sign_in(self, key: str, workspace_uuid: str | None) -> Credentials | None:
        """The credentials of a browser. They are not cached, so that a sign-in that is ended ends at once. Raises
        NotAllowed."""
        with self.database.reading() as tx:
            ages = Ages.of(self.settings)
            credentials = find_by_sign_in(tx, key, self.secret_keys, ages, workspace_uuid)
        if credentials is not None:
            self.token_notes.add(credentials, key)
        return credentials

    def known_credentials(self, key: str) -> Credentials | None:
        """The cached credentials of a token that was looked up in the last second."""
        kept = self._known.get(key)
        if kept is None or time.monotonic() - kept[0] > CREDENTIALS_KEPT_SECONDS:
            return None
        return kept[1]

    def forget_workspace(self, workspace_id: int) -> None:
        """The credentials of its tokens, with what is known of it, are looked up again: it may have other settings."""
        for key, (_, credentials) in list(self._known.items()):
            if credentials.workspace.id == workspace_id:
                self._known.pop(key, None)
        self._origins.clear()

    def kept_origin(self, origin: str, workspace_id: int | None = None) -> bool | None:
        """What is known of the pages of an origin, if it was looked up in the last seconds."""
        kept = self._origins.get((origin, workspace_id))
        return None if kept is None or time.monotonic() - kept[0] > ORIGINS_KEPT_SECONDS else kept[1]

    async def allows_origin(self, origin: str, workspace_id: int | None = None) -> bool:
        """Whether pages of an origin may call the API with tokens of this workspace, or of any."""
        kept = self.kept_origin(origin, workspace_id)
        return (
            kept
            if kept is not None
            else await self.pool.run(partial(self._look_up_origin, origin, workspace_id), self.limiter)
        )

    def _look_up_origin(self, origin: str, workspace_id: int | None) -> bool:
        with self.database.reading() as tx:
            is_allowed = is_origin(tx, origin, workspace_id)
        if len(self._origins) >= ORIGINS_KEPT:
            self._origins.clear()
        self._origins[origin, workspace_id] = (time.monotonic(), is_allowed)
        return is_allowed

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
