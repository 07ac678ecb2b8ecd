"""Everything that a handler may use of one request."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from persistence.database import Database, Transaction
from persistence.tokens import Credentials
from persistence.workspaces import Workspace
from relayboard.base.settings import Settings


@dataclass(slots=True)
class Upload:
    """One file of a multipart request, which the media store has received under `uuid`.

    `hash` is its SHA-256. A handler that keeps it sets `place`, where it belongs in the store after the commit.
    """

    uuid: str
    filename: str
    content_type: str
    size: int
    hash: str
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request with valid credentials and arguments, inside its unit of work.

    `url` is the operation's address as the client knows it; `stored_root` is for addresses that others will read, and
    owes nothing to what the client sent.
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
        """The address of the service, without a final slash."""
        return self.url.partition("/api/")[0]

    @property
    def is_agent(self) -> bool:
        return self.credentials.role == "agent"

    @property
    def now(self) -> datetime:
        return self.tx.now


@dataclass(frozen=True, slots=True)
class RelayRequest:
    """A request of a phone: the exact bytes it sent, and no token; the phone's id decides the workspace."""

    database: Database
    settings: Settings
    raw_body: bytes
    query: dict[str, str]
    path_parameters: dict[str, str]
    client_address: str
