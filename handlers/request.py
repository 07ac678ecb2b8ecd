"""What the layers of the service know about one request, and what a handler may read of it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

import anyio
import anyio.to_thread

from handlers.asgi.request_body import Body
from handlers.asgi.uploads import Upload
from handlers.service import Service
from persistence.accounts.sign_ins import Browser
from persistence.audit import BY_SESSION, BY_TOKEN, Actor
from persistence.channels.visitors import Chat, Visitor
from persistence.database import Database, Transaction
from persistence.media.store import StoreUnavailable
from persistence.tokens import Areas, Credentials
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings

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
