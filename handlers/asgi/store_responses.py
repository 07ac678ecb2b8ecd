"""Files of the media store as responses: those of a folder by Starlette, those of a bucket streamed through this
process, so that clients need neither credentials nor a way to the bucket.
"""

import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from handlers.asgi.plain_responses import PlainResponse, detail_response, header
from handlers.asgi.streams import Stream
from persistence.media.folder import FolderStore
from persistence.media.store import (
    Description,
    FetchedObject,
    MediaStore,
    ObjectStore,
    RangeNotSatisfiable,
    StoreUnavailable,
)

logger = logging.getLogger("relayboard.api")

PIECE_BYTES = 256 * 1024
AT_ONCE = 24
PATIENCE_SECONDS = 5.0
RETRY_AFTER_SECONDS = "10"
UNAVAILABLE = "The file store is not available; try again."
ONE_RANGE = re.compile(r"bytes=(?:[0-9]{1,15}-[0-9]{0,15}|-[0-9]{1,15})")
"""Other ranges get the whole file."""

Result = TypeVar("Result")


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

    async def send(self, name: str, media_type: str, scope: Scope, receive: Receive, send: Send) -> None:
        """The file as the response: whole, or the range that was asked for; 404 if there is none, 503 if the store
        does not answer."""
        try:
            response = await self._response(name, media_type, scope)
        except StoreUnavailable as error:
            response = unavailable_response(error)
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
