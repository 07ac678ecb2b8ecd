"""Responses outside the API, as plain ASGI messages: small ones (documents, pages, health), refusals of the guard, and
those that are sent in pieces or compressed.

Compresses lists with gzip for clients that accept it, and the stream of changes, which has the same records; nothing
else is compressed. Lists contain no secrets: URLs and tokens of gateways, phones and webhooks are in other responses.
"""

import gzip
import re
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import orjson
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

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
