"""Everything that a handler may read of one request."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from persistence.database import Database, Transaction
from persistence.tokens import Credentials
from persistence.workspaces import Workspace
from relayboard.base.settings import Settings


@dataclass(slots=True)
class Upload:
    """One file of a multipart request, stored by the media store under `uuid`. `hash` is its SHA-256. A handler that
    keeps the file sets `place`, its path in the store after the commit.
    """

    uuid: str
    filename: str
    content_type: str
    size: int
    hash: str
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request with valid credentials and arguments, inside its transaction. `url` is the operation's URL as the
    client knows it. `stored_root` is the start of URLs that other people will read; it does not depend on anything the
    client sent.
    """

    tx: Transaction
    credentials: Credentials
    settings: Settings
    url: str
    stored_root: str
    query_text: str
    cursor: str | None = None
    body: dict[str, Any] = field(default_factory=dict)
    media: Upload | None = None

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
    def now(self) -> datetime:
        return self.tx.now


@dataclass(frozen=True, slots=True)
class RelayRequest:
    """A request of a phone: the exact bytes that it sent, without a token. The phone's id determines the workspace."""

    database: Database
    settings: Settings
    raw_body: bytes
    query: dict[str, str]
    path_parameters: dict[str, str]
    client_address: str
