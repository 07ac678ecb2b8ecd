"""The HTTP client for every call that this service makes for a user, and what its requests look like on the wire. The
address is checked when the connection opens, not when the URL is saved, and the connection uses the checked address.
There are no redirects, no cookies, and no proxies or credentials from the environment; the only exception is
`SendFailed`.
"""

import asyncio
import re
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from certifi import where
from urllib3.util import create_urllib3_context, parse_url

from flows.engine.webhook_calls import FORBIDDEN_HEADERS
from flows.words import is_header_value
from relayboard.base.addresses import Network
from relayboard.base.certificates import explain_tls
from relayboard.base.tracing import CLIENT, Span, span
from worker.http.connections import (
    Connection,
    KeptConnections,
    LoopThread,
    NotHttp,
    Origin,
    Reading,
    Resolve,
    Result,
    SendFailed,
    Work,
    dial,
    resolve,
)

CONNECT_TIMEOUT_SECONDS = 5.0
TOTAL_TIMEOUT_SECONDS = 15.0
RESPONSE_LIMIT_BYTES = 256 * 1024
DIALERS = 256
"""Connections that are opened at a time."""

LastLook = Callable[[], None]
BeforeWriting = Callable[[], Awaitable[LastLook]]
Dialed = tuple[socket.socket, ssl.SSLContext | None]

URL_LENGTH = 16_384
"""A flow's URL may have half of it; encoding makes it longer."""
URLS_KNOWN = 1024
USUAL = {"User-Agent": "Relayboard", "Accept": "*/*", "Accept-Encoding": "identity"}
"""What requests say that say nothing else about it."""
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
PORTS = {"http": 80, "https": 443}
WITH_LENGTH = ("POST", "PUT", "PATCH")
"""Methods whose requests tell the length of a body that they do not have."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response. `is_complete` is false if the body was cut off: it was too long or too slow, or the connection
    broke."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_complete: bool
    duration_seconds: float


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: `host` is who is connected to, `name` who has to be there."""

    origin: Origin
    host: str
    port: int
    name: str
    is_secure: bool
    authority: str
    path: str


def check_url(url: str) -> None:
    """Raises SendFailed if a URL can never be called: not http or https, no host, too long, or with a user name."""
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError as error:
        raise SendFailed("url", "The URL is not valid.") from error
    if parts.scheme not in ("http", "https"):
        raise SendFailed("url", "The URL must begin with http:// or https://.")
    if not parts.hostname or not has_port or any(character.isspace() or character < " " for character in url):
        raise SendFailed("url", "The URL is not valid.")
    if "@" in parts.netloc:
        raise SendFailed("url", "The URL must not contain a user name or password.")
    if len(url) > URL_LENGTH:
        raise SendFailed("url", f"The URL is longer than {URL_LENGTH} characters.")


def check_headers(headers: Mapping[str, str]) -> None:
    """Raises SendFailed for headers that only this service may set, and for values that contain line breaks."""
    for name, value in headers.items():
        if name.strip().lower() in FORBIDDEN_HEADERS:
            raise SendFailed("header", f"The header {name} may not be set.")
        if not TOKEN.match(name) or not is_header_value(value):
            raise SendFailed("header", f"The header {name[:64]!r} is not valid.")


class SafeHttp:
    """Sends requests with one set of limits; many threads may use it, and share its connections. One thread of its own
    does the exchanges of all of them.
    """

    def __init__(
        self,
        *,
        allowed_networks: Sequence[Network] = (),
        allowed_ports: Collection[int] = (),
        connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
        total_timeout_seconds: float = TOTAL_TIMEOUT_SECONDS,
        response_limit_bytes: int = RESPONSE_LIMIT_BYTES,
        certificates: str | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        """Without `allowed_ports` all ports are allowed; `certificates` is a file of authorities to trust instead of
        the default ones.
        """
        self.allowed_networks = tuple(allowed_networks)
        self.allowed_ports = frozenset(allowed_ports)
        self.connect_timeout_seconds = min(connect_timeout_seconds, total_timeout_seconds)
        self.total_timeout_seconds = total_timeout_seconds
        self.response_limit_bytes = response_limit_bytes
        self.certificates = certificates or where()
        self.resolve = resolve
        self._dialers = ThreadPoolExecutor(DIALERS, thread_name_prefix="dial")
        self._here = _OfThread()
        self._trusting: ssl.SSLContext | None = None
        self._reading = threading.Lock()
        self._starting = threading.Lock()
        self._thread: LoopThread | None = None

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Sends an event. Raises SendFailed if there is no response, ValueError for an Authorization header."""
        return self.wait_for(self.post_here(url, body, headers))

    async def post_here(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """The same in work that was begun by `begin`."""
        if any(name.lower() == "authorization" for name in headers):
            raise ValueError("events are sent without an Authorization header")
        with span("POST", CLIENT) as call:
            return await self._send("POST", url, headers, body, call)

    def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        before_writing: BeforeWriting | None = None,
    ) -> HttpResponse:
        """One request and its response, with any status. Raises SendFailed if there is no response, and what
        `before_writing` raises, which is awaited when the connection stands and nothing is written yet; the time that
        it takes is not the receiver's. What it returns is called right before the request is written, and may raise.
        """
        with span(method, CLIENT) as call:
            return self.wait_for(self._send(method, url, headers, body, call, before_writing))

    def begin(self, works: Iterable[Work[None]]) -> None:
        """Begins work in the thread of the exchanges, where it must not wait for anything else."""
        with self._starting:
            self._running().begin(works)

    def wait_for(self, work: Work[Result]) -> Result:
        """Has that thread do something, and waits for it."""
        with self._starting:
            future = self._running().ask(work)
        return future.result()

    def close(self) -> None:
        """Ends the connections that are kept for the next call."""
        with self._starting:
            thread, self._thread = self._thread, None
            if thread is not None:
                thread.end()

    def _running(self) -> LoopThread:
        if self._thread is None or not self._thread.is_alive:
            self._thread = LoopThread("exchanges", at_end=lambda: self._here.kept.close())
        return self._thread

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        call: Span,
        before_writing: BeforeWriting | None = None,
    ) -> HttpResponse:
        started = time.monotonic()
        reading = Reading(self.response_limit_bytes, has_body=method.upper() != "HEAD")
        try:
            target = read_target(url)
            await self._exchange(target, write_request(method.upper(), target, headers, body), reading, before_writing)
        except SendFailed:
            raise
        except TimeoutError as error:
            if not reading.has_head:
                raise self._explain(error, url) from error
        except (NotHttp, OSError, ValueError) as error:
            raise self._explain(error, url) from error
        assert reading.status is not None, "otherwise the exchange has failed"
        call.note(http_request_method=method, server_address=target.name)
        call.note(http_response_status__code=reading.status)
        seconds = time.monotonic() - started
        return HttpResponse(reading.status, reading.headers, reading.body, reading.is_complete, seconds)

    async def _exchange(
        self, target: Target, request: bytes, reading: Reading, before_writing: BeforeWriting | None
    ) -> None:
        ends_at = time.monotonic() + self.total_timeout_seconds
        kept = self._here.kept
        connection = kept.take(target.origin) or await self._connect(target, ends_at, kept)
        try:
            if before_writing is not None:
                asked_at = time.monotonic()
                last_look = await before_writing()
                ends_at += time.monotonic() - asked_at
                if not connection.can_be_used:  # it was kept, and the other side has just ended it
                    connection.close()
                    connection = await self._connect(target, ends_at, kept)
                last_look()
            if time.monotonic() >= ends_at:  # this process was frozen: nobody would wait for the response
                raise TimeoutError
        except BaseException:
            connection.close()
            raise
        if await connection.exchange(request, reading, ends_at):
            kept.keep(target.origin, connection)

    async def _connect(self, target: Target, ends_at: float, kept: KeptConnections) -> Connection:
        # To dial has its own time limits, and tells what took so long.
        sock, context = await asyncio.wrap_future(self._dialers.submit(self._dial, target, ends_at))
        async with asyncio.timeout(max(ends_at - time.monotonic(), 0.0)):
            return await self._begin(target, sock, context, kept)

    async def _begin(
        self, target: Target, sock: socket.socket, context: ssl.SSLContext | None, kept: KeptConnections
    ) -> Connection:
        async with asyncio.timeout(self.connect_timeout_seconds):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(kept.forget),
                sock=sock,
                ssl=context,
                server_hostname=target.name if target.is_secure else None,
            )
        return connection

    def _dial(self, target: Target, ends_at: float) -> Dialed:
        """In a thread: to look up a name, and to read the authorities, takes long."""
        if self.allowed_ports and target.port not in self.allowed_ports:
            raise SendFailed("address", f"Port {target.port} is not one that this service may call.")
        limit = min(self.connect_timeout_seconds, max(ends_at - time.monotonic(), 0.001))
        allowed, resolve = self.allowed_networks, self.resolve
        context = self._trust() if target.is_secure else None
        return dial(target.host, target.port, allowed_networks=allowed, timeout_seconds=limit, resolve=resolve), context

    def _trust(self) -> ssl.SSLContext:
        with self._reading:
            if self._trusting is None:
                context = create_urllib3_context()
                context.load_verify_locations(self.certificates)
                context.set_alpn_protocols(["http/1.1"])
                context.verify_mode = ssl.CERT_REQUIRED
                context.check_hostname = True
                self._trusting = context
            return self._trusting

    def _explain(self, error: Exception, url: str) -> SendFailed:
        host = urlsplit(url).hostname
        if isinstance(error, TimeoutError):
            return SendFailed("timeout", f"{host} did not respond within {self.total_timeout_seconds:g} seconds.")
        if isinstance(error, ssl.SSLError):
            return SendFailed("tls", f"The secure connection to {host} failed: {explain_tls(error)}.")
        if isinstance(error, ValueError):
            return SendFailed("url", "The URL or a header is not valid.")
        return SendFailed("broken", f"{host} closed the connection without a valid response.")


class _OfThread(threading.local):
    """Connections belong to the thread whose loop they are in."""

    def __init__(self) -> None:
        self.kept = KeptConnections()


@lru_cache(URLS_KNOWN)
def read_target(url: str) -> Target:
    """Where a URL leads. Raises SendFailed, and ValueError for what no URL may contain."""
    check_url(url)
    parsed = parse_url(url)
    scheme, host = parsed.scheme or "", (parsed.host or "").strip("[]")
    port = parsed.port or PORTS[scheme]
    name = host.rstrip(".")
    written = f"[{name}]" if ":" in name else name
    is_secure = scheme == "https"
    authority = written if port == PORTS[scheme] else f"{written}:{port}"
    return Target((is_secure, host, port), host, port, name, is_secure, authority, parsed.request_uri)


def write_request(method: str, target: Target, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """The bytes of a request. Raises SendFailed, and ValueError for what no method may contain."""
    check_headers(headers)
    if not TOKEN.match(method):
        raise ValueError(method)
    given = {name.lower() for name in headers}
    usual = {name: value for name, value in USUAL.items() if name.lower() not in given}
    lines = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}"]
    if body is not None or method in WITH_LENGTH:
        lines.append(f"Content-Length: {len(body or b'')}")
    lines += [f"{name}: {value}" for name, value in (*usual.items(), *headers.items())]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + (body or b"")
