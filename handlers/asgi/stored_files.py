"""Downloads from the media store: uploaded files, and archives.

Everybody who knows the URL of an uploaded file may read it, because the phones, gateways and people that receive
messages with attachments have no token; the random UUID in the URL cannot be guessed. URLs of archives and of
what jobs wrote are signed, and valid for a day.
"""

import hashlib
import hmac
import mimetypes
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.asgi.plain_responses import detail_response, wrong_method
from handlers.asgi.store_responses import FileSender
from persistence.media.opening import open_store
from relayboard.base.settings import Settings

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MEDIA = re.compile(rf"/media/({UUID}/{UUID}(?:\.[a-z0-9]{{1,8}})?)\Z")
SHOWN_TYPES = re.compile(r"(?:image/(?!svg)|audio/|video/|application/pdf\Z)")
UNKNOWN_TYPE = "application/octet-stream"
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "zip": "application/zip",
}

VALID_FOR = timedelta(hours=24)
ARCHIVE = re.compile(r"/media/(archives/[0-9a-f\-]{36}/[0-9a-z\-]+\.jsonl\.gz)\Z")
PRIVATE = re.compile(r"/media/(private/[a-z]+/[0-9a-f\-]{36,80}\.[a-z]{3,5})\Z")


def link_to_file(root: str, secret_key: str, location: str, now: datetime) -> str:
    """The signed URL of an archive or private file in the media store, valid for VALID_FOR."""
    expires = int((now + VALID_FOR).timestamp())
    return f"{root}/media/{location}?expires={expires}&sig={_sign(secret_key, location, expires)}"


def _sign(secret_key: str, location: str, expires: int) -> str:
    return hmac.new(secret_key.encode(), f"archive\n{location}\n{expires}".encode(), hashlib.sha256).hexdigest()


class StoredFiles(ABC):
    """ASGI layer that serves stored files whose path begins with PREFIX; other requests go to the inner layer."""

    PREFIX: ClassVar[str]
    HEADERS: ClassVar[Mapping[str, str]]
    MISSING: ClassVar[str]

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.sender = FileSender(open_store(settings), detail_response(404, self.MISSING), self.HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self.PREFIX):
            await self.app(scope, receive, send)
            return
        refused = wrong_method(scope)
        if refused is not None:
            await refused.send(send)
            return
        name = self.find(scope["path"], scope["query_string"])
        if name is None:
            await self.sender.missing.send(send)
            return
        await self.sender.send(name, self.media_type_of(name), scope, receive, send)

    @abstractmethod
    def find(self, path: str, query_string: bytes) -> str | None:
        """The name of the file of a URL; the pattern of the path ensures that it stays inside the store."""

    def media_type_of(self, name: str) -> str:
        """The media type of a file by its extension; never a type that a browser would execute."""
        guessed, _ = mimetypes.guess_type(name)
        return guessed if guessed is not None and SHOWN_TYPES.match(guessed) else UNKNOWN_TYPE


class MediaFiles(StoredFiles):
    """Serves `/media/<workspace uuid>/<media uuid>.<extension>`."""

    PREFIX = "/media/"
    MISSING = "There is nothing at this URL."
    HEADERS: ClassVar[Mapping[str, str]] = {
        "Cache-Control": "public, max-age=31536000, immutable",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "X-Content-Type-Options": "nosniff",
    }

    def find(self, path: str, query_string: bytes) -> str | None:
        found = MEDIA.match(path)
        return found.group(1) if found is not None else None


class ArchiveFiles(StoredFiles):
    """Serves `/media/archives/...` to everybody with a signed URL."""

    PREFIX = "/media/archives/"
    PATTERN: ClassVar[re.Pattern[str]] = ARCHIVE
    MISSING = "There is nothing at this URL, or it is no longer valid."
    HEADERS: ClassVar[Mapping[str, str]] = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}

    def __init__(
        self, app: ASGIApp, settings: Settings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        super().__init__(app, settings)
        self.secret_keys = (settings.secret_key, *settings.secret_key_fallbacks)
        self.clock = clock

    def find(self, path: str, query_string: bytes) -> str | None:
        found = self.PATTERN.match(path)
        query = parse_qs(query_string.decode("latin-1"))
        expires, signature = query.get("expires", [""])[0], query.get("sig", [""])[0]
        if found is None or not re.fullmatch(r"[0-9]{1,12}", expires) or int(expires) < self.clock().timestamp():
            return None
        wanted = [_sign(key, found.group(1), int(expires)) for key in self.secret_keys]
        is_ours = any(hmac.compare_digest(each.encode(), signature.encode()) for each in wanted)
        return found.group(1) if is_ours else None

    def media_type_of(self, name: str) -> str:
        return "application/gzip"


class PrivateFiles(ArchiveFiles):
    """Serves `/media/private/...`, what jobs with data wrote, to everybody with a signed URL; browsers save it."""

    PREFIX = "/media/private/"
    PATTERN = PRIVATE
    HEADERS: ClassVar[Mapping[str, str]] = {**ArchiveFiles.HEADERS, "Content-Disposition": "attachment"}

    def media_type_of(self, name: str) -> str:
        return MEDIA_TYPES.get(name.rpartition(".")[2], UNKNOWN_TYPE)
