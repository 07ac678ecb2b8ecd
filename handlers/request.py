"""What the layers of the service know about one request, and what a handler may read of it; and the state of the API
process that answers it: its database, settings, thread pool, and short-lived caches.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from handlers.asgi.rate_limiter import RateLimiter
from handlers.asgi.request_body import Body
from handlers.asgi.uploads import Upload, UploadPlaces
from handlers.held_syncs import HeldSyncs
from handlers.listeners import Listeners
from handlers.threads import Lane, ReadLanes, Threads, WriteLanes
from handlers.token_notes import TokenNotes
from persistence.accounts.accounts import Ages
from persistence.accounts.passwords import Passwords
from persistence.accounts.sign_ins import Browser, find_by_sign_in
from persistence.audit import BY_SESSION, BY_TOKEN, Actor
from persistence.channels.visitors import Chat, Visitor
from persistence.database import Database, Transaction
from persistence.media.store import MediaStore, StoreUnavailable
from persistence.sql.standby import Standby
from persistence.tokens import Areas, Credentials, find_credentials
from persistence.workspaces.records import Workspace, is_origin
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


KEY = "relayboard"

logger = logging.getLogger("relayboard.api")


@dataclass(slots=True)
class RequestContext:
    """Stored in the ASGI scope of each request. A field without a default is set once its layer has run. `closing` runs
    clean-up functions of the layers at the end. `declared_type` is the media type that the client declared. `raw_body`
    is the body once it has been read, `json` its parsed content. `rate_limits` are headers of every response to an
    authorized request. An upload that `is_needed` is kept after the request. `held_seconds` are those in which nothing
    was done for it on purpose. `caller` is who calls from the page of a site with a chat, `origin` that of the page of
    another origin that may read the answer.
    """

    request_id: str
    body: Body
    closing: AsyncExitStack
    service: Service = field(init=False, repr=False)
    declared_type: bytes | None = None
    raw_body: bytes | None = None
    credentials: Credentials = field(init=False, repr=False)
    rate_limits: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    json: Any = field(default_factory=dict)
    upload: Upload | None = None
    upload_is_needed: bool = False
    held_seconds: float = 0.0
    caller: "ChatCaller | None" = None
    origin: str | None = None

    @property
    def workspace_id(self) -> int:
        """Whose request this is."""
        return self.credentials.workspace.id if self.caller is None else self.caller.chat.source.workspace_id

    async def discard_upload(self, uuid: str) -> None:
        """Delete the upload with this UUID at the end of the request, unless a row needs it. The row may also exist if
        the connection broke during the commit. The worker's trimming later gives a needed file its final name.
        """
        if not self.upload_is_needed:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._discard, uuid)

    def _discard(self, uuid: str) -> None:
        try:
            self.service.media_store.discard(uuid)
        except StoreUnavailable as error:
            logger.warning("a file of a failed upload is deleted later: %s", error)


def context_of(scope: Mapping[str, Any]) -> RequestContext:
    context: RequestContext = scope[KEY]
    return context


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The parameters that lists of generation 2 have in common: where the page begins, how many records it has, whether
    all are counted, and the members that are wanted of each record."""

    cursor: str | None = None
    page_size: int | None = None
    count: bool = False
    fields: Sequence[str] = ()


PAGE_OPTIONS = tuple(each.name for each in fields(PageOptions))


@dataclass(frozen=True, slots=True)
class Request:
    """A request with valid credentials and arguments, inside its transaction. `if_match` names the states in which the
    client wants the record to be. `url` is the operation's URL as the
    client knows it. `stored_root` is the start of URLs that other people will read; it does not depend on anything the
    client sent.
    """

    tx: Transaction
    credentials: Credentials
    settings: Settings
    url: str
    stored_root: str
    query_text: str
    page: PageOptions = PageOptions()
    body: dict[str, Any] = field(default_factory=dict)
    media: Upload | None = None
    if_match: str | None = None

    @property
    def cursor(self) -> str | None:
        return self.page.cursor

    @property
    def page_size(self) -> int:
        return self.page.page_size or self.settings.page_size

    @property
    def workspace(self) -> Workspace:
        return self.credentials.workspace

    @property
    def root(self) -> str:
        """The URL of the service, without a trailing slash."""
        return self.url.partition("/api/")[0]

    @property
    def is_agent(self) -> bool:
        return self.credentials.role == "agent"

    @property
    def areas(self) -> Areas:
        return self.credentials.areas

    @property
    def now(self) -> datetime:
        return self.tx.now


def actor_of(who: Credentials, address: str | None) -> Actor:
    """Who a request is from, for the audit log."""
    via = BY_TOKEN if who.sign_in_id is None else BY_SESSION
    return Actor(via, email=who.email, token=who.token_public, address=address)


@dataclass(frozen=True, slots=True)
class PersonRequest:
    """A request about the account of a person, who may not be signed in yet (no credentials). Its handler opens its
    transactions itself, because passwords must not be compared inside one. `root` is the URL of the service, `key` the
    secret of the browser's cookie.
    """

    service: Service
    credentials: Credentials | None
    key: str | None
    root: str
    stored_root: str
    query: dict[str, Any]
    body: dict[str, Any]
    browser: Browser


@dataclass(frozen=True, slots=True)
class RelayRequest:
    """A request of a phone: the exact bytes that it sent, without a token. The phone's id determines the workspace, of
    which the handler tells the service (`note_workspace`). `take_place` says whether the answer may wait."""

    database: Database
    settings: Settings
    raw_body: bytes
    query: dict[str, str]
    path_parameters: dict[str, str]
    client_address: str
    note_workspace: Callable[[int], object]
    take_place: Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class ChatCaller:
    """A page of a site that may show a chat. `token` are the code and the token of a visitor, if the request had them,
    `visitor` is whose they are. `address` is the client's, of version 6 its network."""

    chat: Chat
    token: tuple[str, str] | None
    visitor: Visitor | None
    address: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request of such a page, inside its transaction. `workspace` is that of the chat."""

    tx: Transaction
    settings: Settings
    chat: Chat
    visitor: Visitor | None
    workspace: Workspace
    address: str
    stored_root: str
    body: dict[str, Any] = field(default_factory=dict)
    media: Upload | None = None

    @property
    def known_visitor(self) -> Visitor:
        """The visitor of an operation that needs one."""
        assert self.visitor is not None, "the contract asks for a token"
        return self.visitor
