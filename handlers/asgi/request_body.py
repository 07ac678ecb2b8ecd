"""The body of a request: read late, with limits for its size and for the time that the client may take. Its JSON is
strict: everything that two parsers could read differently, or that a database cannot store, is rejected.

Checks of a request's URL and media type, before any other layer reads them, and what tells requests of our own pages
from those of other sites.
"""

import asyncio
import ipaddress
import json
import math
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.types import Message, Receive, Scope

from handlers.asgi.plain_responses import ClientGone, Refusal, header
from persistence.errors import NotAllowed

JSON_PREFIX, CHAT_PREFIX = "/api/", "/chat/"
TYPED_PREFIXES = (JSON_PREFIX, CHAT_PREFIX)
"""Of operations with one media type, which a request may leave out."""

SLOWEST_BYTES_PER_SECOND = 4096
HELD_LIMIT_BYTES = 64 * 1024 * 1024
LONGEST_LENGTH = 15

URL_LIMIT_BYTES = 8192
BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
NOT_ASCII = re.compile(rb"[\x80-\xff]")
JSON_TYPE = re.compile(rb'application/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-?8"?[ \t]*)?;?\Z', re.IGNORECASE)
HOST = re.compile(
    r"(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?|\[(?P<address>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?\Z"
)
HOST_LENGTH = 255
LARGEST_PORT = 65_535
FORM_TYPE = re.compile(rb"multipart/form-data[ \t]*;", re.IGNORECASE)

COOKIE = "relayboard_session"
KNOWN_COOKIE = "relayboard_browser"
OWN_SITE = ("same-origin", "none")
OTHER_ORIGIN = "A page of another origin cannot use the cookie of this one."


@dataclass(slots=True)
class BodyMemory:
    """Counts the memory of all bodies that this process has read or is about to read."""

    limit_bytes: int = HELD_LIMIT_BYTES
    held_bytes: int = 0

    def hold(self, size: int) -> None:
        """Reserves memory for a body. Raises Refusal (503) if there is not enough left."""
        if self.held_bytes + size > self.limit_bytes:
            raise Refusal(503, "The service is reading too many requests; try again.", {"Retry-After": "1"})
        self.held_bytes += size


class Body:
    """The body of one request. Nothing is read before a layer asks for it. A client has `timeout_seconds` for each
    piece, and for the whole body one more second for every 4096 bytes.
    """

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        *,
        limit_bytes: int,
        timeout_seconds: float,
        memory: BodyMemory,
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._limit_bytes = limit_bytes
        self._timeout_seconds = timeout_seconds
        self._memory = memory
        self._held_bytes = 0
        self._began: float | None = None
        self._received_bytes = 0
        self._is_complete = False
        self.is_client_gone = False

    @property
    def is_awaited(self) -> bool:
        """Whether the client waits for `100 Continue` before it sends the body (`Expect`), and did not get it."""
        return self._began is None and header(self._scope, b"expect") is not None

    def check_length(self) -> None:
        """Raises Refusal: 400 for a Content-Length that is not a number, 413 for one beyond the limit."""
        declared = declared_length(self._scope)
        if declared is not None and declared > self._limit_bytes:
            raise self._too_large()

    async def receive(self) -> Message:
        """ASGI's receive with the limits applied; after the end of the body it returns the client's next message.
        Raises Refusal (413 beyond the limit, 400 for a wrong length or a slow client) or ClientGone.
        """
        if self._is_complete:
            return await self._receive()
        if self._began is None:
            self._began = time.monotonic()
            self.check_length()
        message = await self._next()
        self._received_bytes += len(message.get("body", b""))
        if self._received_bytes > self._limit_bytes:
            raise self._too_large()
        if not message.get("more_body", False):
            self._is_complete = True
            declared = declared_length(self._scope)
            if declared is not None and declared != self._received_bytes:
                text = "The Content-Length is not the length of the request body."
                raise Refusal(400, text, {"Connection": "close"})
        return message

    async def read(self) -> bytes:
        """The whole body. Raises what `receive` raises, and Refusal (503) if there are too many bodies in memory."""
        body = bytearray()
        while not self._is_complete:
            chunk = (await self.receive()).get("body", b"")
            self._memory.hold(len(chunk))
            self._held_bytes += len(chunk)
            body += chunk
        return bytes(body)

    async def until_gone(self) -> None:
        """Returns once the client has disconnected, after the whole body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self.is_client_gone = True

    def forget(self) -> None:
        """The request is over."""
        self._memory.held_bytes -= self._held_bytes
        self._held_bytes = 0

    async def _next(self) -> Message:
        if header(self._scope, b"content-length") is None and header(self._scope, b"transfer-encoding") is None:
            message = await self._receive()  # there is no body to wait for, and a timer has a cost
        else:
            try:
                async with asyncio.timeout(self._seconds_left()):
                    message = await self._receive()
            except TimeoutError as error:
                text = "The request body took too long to arrive."
                raise Refusal(400, text, {"Connection": "close"}) from error
        if message["type"] == "http.disconnect":
            self.is_client_gone = True
            raise ClientGone
        return message

    def _seconds_left(self) -> float:
        assert self._began is not None
        whole = self._timeout_seconds + self._received_bytes / SLOWEST_BYTES_PER_SECOND
        return max(0.0, min(self._timeout_seconds, self._began + whole - time.monotonic()))

    def _too_large(self) -> Refusal:
        return Refusal(413, f"The request body is larger than {self._limit_bytes} bytes.")


def declared_length(scope: Scope) -> int | None:
    """The Content-Length in bytes; None without one. Raises Refusal(400) when it is not a number."""
    text = header(scope, b"content-length")
    if text is None:
        return None
    if not text.isdigit() or len(text) > LONGEST_LENGTH:
        raise Refusal(400, "The Content-Length is not valid.", {"Connection": "close"})
    return int(text)


def replay(body: bytes, receive: Receive) -> Receive:
    """A receive callable that returns the body again in one message, then the client's next messages."""
    is_sent = False

    async def receive_again() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def check_url(scope: Scope, *, is_any_text: bool = False) -> None:
    """Raises Refusal(400) for a URL that is too long, badly escaped, or decodes to something that is not text. The
    query may be `is_any_text`, in whatever characters. Bytes beyond ASCII in it, which some clients send unescaped,
    become percent escapes.
    """
    raw_path = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    query = scope.get("query_string", b"")
    if len(raw_path) + len(query) > URL_LIMIT_BYTES:
        raise Refusal(400, f"The URL is longer than {URL_LIMIT_BYTES} bytes.")
    _check_escapes(raw_path)
    _check_escapes(query, is_any_text=is_any_text)
    if NOT_ASCII.search(query):
        scope["query_string"] = NOT_ASCII.sub(lambda found: b"%%%02X" % found.group()[0], query)


def take_media_type(scope: Scope, plain: bytes) -> bytes | None:
    """The media type that a client declared; it is replaced by `plain` for the next layers. They understand only that
    form, and would otherwise reject the type before the caller is known.
    """
    declared = header(scope, b"content-type")
    others = [pair for pair in scope["headers"] if pair[0].lower() != b"content-type"]
    scope["headers"] = [*others, (b"content-type", plain)]
    return declared


def check_encodings(scope: Scope) -> None:
    """Raises Refusal(415) for a body that is compressed or otherwise encoded, which nobody here decodes."""
    for name, plain in ((b"content-encoding", {"", "identity"}), (b"transfer-encoding", {"", "identity", "chunked"})):
        given = [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
        words = {word.strip().lower() for value in given for word in value.split(",")} - plain
        if words:
            title = name.decode().title()
            text = f"Bodies with the {title} {', '.join(sorted(words))[:100]!r} are not read: send the body as it is."
            raise Refusal(415, text, {"Accept-Encoding": "identity", "Connection": "close"})


def check_json_type(content_type: bytes | None, *, has_body: bool) -> None:
    """Raises Refusal(415) for a body that is declared as anything other than JSON in UTF-8. A request without a media
    type or without a body counts as JSON.
    """
    if has_body and content_type is not None and not JSON_TYPE.match(content_type.strip()):
        raise Refusal(415, "Send JSON.")


def check_form_type(content_type: bytes | None) -> bytes:
    """The media type of a multipart form. Raises Refusal(415) for any other type."""
    if content_type is None or not FORM_TYPE.match(content_type.strip()):
        raise Refusal(415, "Send a multipart form.")
    return content_type


def check_host(scope: Scope) -> None:
    """Raises Refusal(400) unless there is exactly one valid Host header (RFC 9112, 3.2); HTTP/1.0 needs none. URLs in
    responses begin with it.
    """
    given = [value for name, value in scope["headers"] if name.lower() == b"host"]
    if not given and scope.get("http_version") == "1.0":
        return
    if len(given) != 1 or not is_host(given[0].decode("latin-1")):
        raise Refusal(400, "The Host header is not valid.", {"Connection": "close"})


def is_host(text: str) -> bool:
    """Whether this is a name or an IP address (version 6 in brackets), with or without a port."""
    found = HOST.match(text)
    if found is None or len(text) > HOST_LENGTH or int(found["port"] or 0) > LARGEST_PORT:
        return False
    if found["address"] is None:
        return True
    try:
        ipaddress.IPv6Address(found["address"])
    except ValueError:
        return False
    return True


def cookie_in(header: str, cookie: str = COOKIE) -> str | None:
    """The value of one of our cookies in a Cookie header."""
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == cookie and value:
            return value
    return None


def check_origin(headers: Mapping[str, str], base_url: str) -> None:
    """Raises NotAllowed for a request that a browser sends for a page of another origin: browsers add `Origin` to every
    change and `Sec-Fetch-Site` to every request. Our own origin has the host of the request or that of the base URL.
    """
    if headers.get("sec-fetch-site", OWN_SITE[0]) not in OWN_SITE:
        raise NotAllowed(OTHER_ORIGIN)
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc not in {headers.get("host", ""), urlsplit(base_url).netloc} - {
        ""
    }:
        raise NotAllowed(OTHER_ORIGIN)


def make_cookie(value: str, *, is_secure: bool, seconds: int, cookie: str = COOKIE) -> str:
    """The Set-Cookie header; with 0 seconds the browser forgets the cookie."""
    secure = "; Secure" if is_secure else ""
    return f"{cookie}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"


def _check_escapes(part: bytes, *, is_any_text: bool = False) -> None:
    if BAD_ESCAPE.search(part):
        raise Refusal(400, "The URL is badly escaped.")
    decoded = unquote_to_bytes(part)
    if b"\x00" in decoded:
        name = _name_with_nul(part)
        where = "the path" if name is None else f"the parameter {name}"
        raise Refusal(400, f"NUL characters (%00) are not allowed: there is one in {where}.")
    if is_any_text:
        return
    try:
        decoded.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(400, "The URL is not valid UTF-8.") from error


def _name_with_nul(query: bytes) -> str | None:
    """The parameter of a query in which a NUL stands; None for a path."""
    for pair in query.split(b"&"):
        name, is_pair, value = pair.partition(b"=")
        if is_pair and b"\x00" in unquote_to_bytes(value):
            return unquote_to_bytes(name).decode("utf-8", "replace")[:64]
    return None


NESTING_LIMIT = 32
SMALLEST, LARGEST = -(2**63), 2**63 - 1
INTEGER_LENGTH = 20  # digits of the smallest integer, with its sign
FLOAT_LENGTH = 400

_BLANKS = b" \t\r\n"
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_SUSPICIOUS_NUMBER = re.compile(r"[0-9]{19}|[eE]\+?[0-9]{3}")
_SUSPICIOUS_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class StrictJsonError(ValueError):
    """A body that is not acceptable JSON; the message tells the client why, and `path` in which field, by keys and
    indexes."""

    def __init__(self, message: str, path: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.path = path


def parse_strict(raw: bytes, *, nesting_limit: int = NESTING_LIMIT) -> Any:
    """The value of a JSON text in UTF-8; an empty one is an empty object.

    Raises StrictJsonError for invalid UTF-8, a byte order mark, NaN and infinities, NUL characters, duplicate keys,
    lone surrogates, integers beyond signed 64 bit, numbers that are very long or too large for a double, more nesting
    than the limit, and everything that is not JSON. The time is linear in the size of the body.
    """
    if not raw.strip(_BLANKS):
        return {}
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StrictJsonError("The request body is not valid UTF-8.") from error
    check_nesting(raw, nesting_limit)
    value = _parse(text)
    if _SUSPICIOUS_ESCAPE.search(text):
        check_characters(value)
    return value


def _parse(text: str) -> Any:
    # A hook per number doubles the time for a long list of ids, so it is set only if a number could be too large.
    decoder = _CAREFUL if _SUSPICIOUS_NUMBER.search(text) else _QUICK
    try:
        return decoder.decode(text)
    except StrictJsonError:
        raise
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise StrictJsonError(f"The request body is not valid JSON: {where}.") from error


def check_nesting(raw: bytes, limit: int) -> None:
    """Raises StrictJsonError when brackets outside of texts nest deeper than the limit, or do not match."""
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return
    without_escapes = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_texts = b"".join(without_escapes.split(b'"')[::2])
    brackets = outside_texts.translate(_AS_SQUARE, _ALL_BUT_BRACKETS)
    for _ in range(limit):  # each pass removes the innermost level
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return
    if brackets.count(b"[") != brackets.count(b"]"):
        raise StrictJsonError("The request body is not valid JSON: its brackets do not match.")
    raise StrictJsonError(f"The request body nests deeper than {limit} levels.")


def check_characters(value: object, path: tuple[str, ...] = ()) -> None:
    """Raises StrictJsonError for NUL and lone surrogates in any text or key."""
    if isinstance(value, str):
        found = _UNSTORABLE.search(value)
        if found is not None and found.group() == "\x00":
            raise StrictJsonError("NUL characters (\\u0000) are not allowed.", path)
        if found is not None:
            half = f"\\u{ord(found.group()):04x}"
            raise StrictJsonError(f"{half} is half of a surrogate pair: send the whole character.", path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_characters(item, (*path, str(index)))
    elif isinstance(value, dict):
        for key, item in value.items():
            check_characters(key, path)
            check_characters(item, (*path, key))


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise StrictJsonError(f"An object names the same key twice: {twice[:64]}.")
    return result


def _read_integer(text: str) -> int:
    number = int(text) if len(text) <= INTEGER_LENGTH else LARGEST + 1
    if not SMALLEST <= number <= LARGEST:
        raise StrictJsonError("Whole numbers must fit 64 bits.")
    return number


def _read_float(text: str) -> float:
    number = float(text) if len(text) <= FLOAT_LENGTH else math.inf
    if not math.isfinite(number):
        raise StrictJsonError("Numbers must be finite and of reasonable length.")
    return number


def _refuse_constant(name: str) -> Any:
    raise StrictJsonError(f"{name} is not a JSON number.")


_QUICK = json.JSONDecoder(object_pairs_hook=_read_object, parse_constant=_refuse_constant)
_CAREFUL = json.JSONDecoder(
    object_pairs_hook=_read_object,
    parse_constant=_refuse_constant,
    parse_int=_read_integer,
    parse_float=_read_float,
)
