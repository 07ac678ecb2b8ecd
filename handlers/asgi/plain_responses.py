"""Responses outside the API, as plain ASGI messages: small ones (documents, pages, health), refusals of the guard, and
those that are sent in pieces or compressed.

Compresses lists with gzip for clients that accept it, and the stream of changes, which has the same records; nothing
else is compressed. Lists contain no secrets: URLs and tokens of gateways, phones and webhooks are in other responses.

Files of the media store as responses: those of a folder by Starlette, those of a bucket streamed through this process,
so that clients need neither credentials nor a way to the bucket. Everybody who knows the URL of an uploaded file may
read it, because the phones, gateways and people that receive messages with attachments have no token; the random UUID
in the URL cannot be guessed. URLs of archives and of what jobs wrote are signed, and valid for a day.
"""

import gzip
import hashlib
import hmac
import logging
import mimetypes
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import formatdate, parsedate_to_datetime
from typing import ClassVar, TypeVar
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
import orjson
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from persistence.media.store import (
    Description,
    FetchedObject,
    FolderStore,
    MediaStore,
    ObjectStore,
    RangeNotSatisfiable,
    StoreUnavailable,
    open_store,
)
from relayboard.base.settings import Settings

JSON_TYPE = "application/json"
CODED_PREFIX = "/api/v2/"
CODE, SEVERAL = "code", "non_field_errors"
CODES = {
    400: "invalid",
    401: "not_authenticated",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    412: "changed_since",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
}
"""The words of statuses; errors that are more special have others. openapi/shared/schemas.yaml lists all."""
WITHOUT_LENGTH = (204, 304)
"""What these statuses say has no body (RFC 9110, 8.6)."""

LEAST_BYTES = 1024
"""Shorter bodies fit into one packet uncompressed."""
LEVEL = 1
"""250 contacts shrink to an eighth in a millisecond; higher levels take three times as long to save another tenth."""
STREAM_LEVEL, STREAM_WINDOW_BITS, STREAM_MEMORY = 6, 12, 5
"""A stream keeps 32 KB for its compression: the last 4 KB of events, of which the next one repeats most."""
CODING = re.compile(r"(?:^|,)\s*(gzip|x-gzip|\*)\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?)\s*)?(?=,|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlainResponse:
    """A whole response: body, media type, status, further headers, and the cookies that it sets."""

    body: bytes
    media_type: str = JSON_TYPE
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await self.send(send)

    async def send(self, send: Send) -> None:
        headers = dict(self.headers) if self.status in WITHOUT_LENGTH else self._with_length()
        if self.media_type:
            headers["content-type"] = self.media_type
        pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        pairs += [(b"set-cookie", each.encode("latin-1")) for each in self.cookies]
        await send({"type": "http.response.start", "status": self.status, "headers": pairs})
        await send({"type": "http.response.body", "body": self.body})

    def _with_length(self) -> dict[str, str]:
        return {"content-length": str(len(self.body)), **self.headers}


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> PlainResponse:
    return PlainResponse(orjson.dumps(value), JSON_TYPE, status, headers or {})


def detail_response(status: int, text: str, headers: Mapping[str, str] | None = None, path: str = "") -> PlainResponse:
    """An error of the detail family; `path` is that of a request for the API."""
    return json_response(with_code(path, status, {"detail": text}), status, headers)


def with_code(path: str, status: int, body: Mapping[str, object], code: str = "") -> Mapping[str, object]:
    """The body of an error with its word for programs, in generation 2. Problems with a field that is called `code`
    stand among those of several fields.
    """
    if status not in CODES or not path.startswith(CODED_PREFIX):
        return body
    others = dict(body)
    problem = others.pop(CODE, None)
    if problem is not None:
        several = others.get(SEVERAL, [])
        own = problem if isinstance(problem, list) else [str(problem)]
        others[SEVERAL] = [*(several if isinstance(several, list) else []), *own]
    return {**others, CODE: code or CODES[status]}


def wrong_method(scope: Scope, methods: Sequence[str] = ("GET", "HEAD")) -> PlainResponse | None:
    """The 405 for a method that a page does not have (most can only be read); None if it has the method."""
    if scope["method"] in methods:
        return None
    return detail_response(405, "This method is not available here.", {"Allow": ", ".join(methods)})


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first value of a request header, by its lower-case name."""
    for key, value in scope["headers"]:
        if key.lower() == name:
            found: bytes = value
            return found
    return None


class Stream(StreamingResponse):
    """Ends when the client has gone. A wrong body of the request, which nobody needs, ends it too: no other answer can
    follow.
    """

    async def listen_for_disconnect(self, receive: Receive) -> None:
        with suppress(ClientGone, Refusal):
            await super().listen_for_disconnect(receive)


class Refusal(Exception):
    """A request that is refused before a handler runs: status, message for the client, and further headers."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers or {}


class ClientGone(Exception):
    """The client disconnected before its request was complete; nobody waits for a response."""


def accepts_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header allows gzip (RFC 9110, section 12.5.3)."""
    weights = {name.lower().removeprefix("x-"): float(weight or 1) for name, weight in CODING.findall(header)}
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def compress(body: str | bytes) -> bytes:
    return gzip.compress(body.encode() if isinstance(body, str) else body, LEVEL, mtime=0)


async def compressed(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Events with gzip, each as a piece that a client can read at once. What an event repeats of those before it takes
    next to nothing.
    """
    packer = zlib.compressobj(STREAM_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS + 1 + STREAM_WINDOW_BITS, STREAM_MEMORY)
    async for event in events:
        yield packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()


logger = logging.getLogger("relayboard.api")

PIECE_BYTES = 256 * 1024
AT_ONCE = 24
PATIENCE_SECONDS = 5.0
RETRY_AFTER_SECONDS = "10"
UNAVAILABLE = "The file store is not available; try again."
ONE_RANGE = re.compile(r"bytes=(?:[0-9]{1,15}-[0-9]{0,15}|-[0-9]{1,15})")
"""Other ranges get the whole file."""

Result = TypeVar("Result")
Explain = Callable[[str], Awaitable[PlainResponse | None]]
"""What is to be said of a file that is not in the store; None if there is nothing to say."""

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


def unavailable_response(error: StoreUnavailable) -> PlainResponse:
    logger.error("the file store failed: %s", error)
    return detail_response(503, UNAVAILABLE, {"Retry-After": RETRY_AFTER_SECONDS})


@dataclass(slots=True)
class FileSender:
    """Sends files of one store."""

    store: MediaStore
    missing: PlainResponse
    headers: Mapping[str, str]
    _slots: anyio.CapacityLimiter | None = field(default=None)

    async def send(
        self, name: str, media_type: str, scope: Scope, receive: Receive, send: Send, explain: "Explain | None" = None
    ) -> None:
        """The file as the response: whole, or the range that was asked for; 404 if there is none, which `explain` may
        know more about, 503 if the store does not answer."""
        try:
            response = await self._response(name, media_type, scope)
        except StoreUnavailable as error:
            response = unavailable_response(error)
        if response is self.missing and explain is not None:
            response = await explain(name) or self.missing
        if isinstance(response, PlainResponse):
            await response.send(send)
        else:
            await response(scope, receive, send)

    async def _response(self, name: str, media_type: str, scope: Scope) -> Response | PlainResponse:
        if isinstance(self.store, FolderStore):
            path = await anyio.to_thread.run_sync(self.store.open_path, name)
            return self.missing if path is None else FileResponse(path, media_type=media_type, headers=self.headers)
        assert isinstance(self.store, ObjectStore)
        return await self._object_response(self.store, name, media_type, scope)

    async def _object_response(
        self, store: ObjectStore, name: str, media_type: str, scope: Scope
    ) -> Response | PlainResponse:
        byte_range = _text(scope, b"range")
        if byte_range is not None and not ONE_RANGE.fullmatch(byte_range):
            byte_range = None
        condition = _text(scope, b"if-range")
        if scope["method"] == "HEAD" or (byte_range is not None and condition is not None):
            known = await self._ask(lambda: store.describe(name))
            if known is None:
                return self.missing
            if scope["method"] == "HEAD":
                return Response(headers=self._headers(known, known.size), media_type=media_type)
            byte_range = byte_range if _is_same(known, condition or "") else None
        try:
            found = await self._ask(lambda: store.fetch(name, byte_range))
        except RangeNotSatisfiable:
            known = await self._ask(lambda: store.describe(name))
            size = 0 if known is None else known.size
            return detail_response(416, "The file is shorter than that.", {"Content-Range": f"bytes */{size}"})
        if found is None:
            return self.missing
        headers = self._headers(found, found.size)
        if found.content_range is not None:
            headers["content-range"] = found.content_range
        status = 200 if found.content_range is None else 206
        return Stream(self._pieces(found), status, headers, media_type)

    def _headers(self, known: Description, size: int) -> dict[str, str]:
        own = {
            "accept-ranges": "bytes",
            "content-length": str(size),
            "etag": known.etag,
            "last-modified": formatdate(known.modified, usegmt=True),
        }
        return {**own, **self.headers}

    async def _pieces(self, found: FetchedObject) -> AsyncIterator[bytes]:
        try:
            while piece := await self._ask(lambda: found.stream.read(PIECE_BYTES)):
                yield piece
        finally:
            found.stream.close()

    async def _ask(self, call: Callable[[], Result]) -> Result:
        """Calls the store in one of few threads, so that a slow one holds up nothing else. Raises StoreUnavailable if
        no thread is free for some seconds."""
        if self._slots is None:
            self._slots = anyio.CapacityLimiter(AT_ONCE)
        borrower = object()
        try:
            with anyio.fail_after(PATIENCE_SECONDS):
                await self._slots.acquire_on_behalf_of(borrower)
        except TimeoutError as error:
            raise StoreUnavailable("too many files are being read from a slow store") from error
        try:
            return await anyio.to_thread.run_sync(call, limiter=anyio.CapacityLimiter(1))
        finally:
            self._slots.release_on_behalf_of(borrower)


def link_to_file(root: str, secret_key: str, location: str, now: datetime) -> str:
    """The signed URL of an archive or private file in the media store, valid for VALID_FOR."""
    expires = int((now + VALID_FOR).timestamp())
    return f"{root}/media/{location}?expires={expires}&sig={_sign(secret_key, location, expires)}"


def _text(scope: Scope, name: bytes) -> str | None:
    value = header(scope, name)
    return None if value is None else value.decode("latin-1")


def _is_same(known: Description, condition: str) -> bool:
    """Whether a client's `If-Range` names the file as it is."""
    if condition.startswith('"'):
        return condition == known.etag
    try:
        return int(parsedate_to_datetime(condition).timestamp()) == int(known.modified)
    except ValueError:
        return False


class StoredFiles(ABC):
    """ASGI layer that serves stored files whose path begins with PREFIX; other requests go to the inner layer."""

    PREFIX: ClassVar[str]
    HEADERS: ClassVar[Mapping[str, str]]
    MISSING: ClassVar[str]
    explain: Explain | None = None

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
        await self.sender.send(name, self.media_type_of(name), scope, receive, send, self.explain)

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

    def __init__(self, app: ASGIApp, settings: Settings, explain: Explain | None = None) -> None:
        super().__init__(app, settings)
        self.explain = explain

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


def _sign(secret_key: str, location: str, expires: int) -> str:
    return hmac.new(secret_key.encode(), f"archive\n{location}\n{expires}".encode(), hashlib.sha256).hexdigest()
