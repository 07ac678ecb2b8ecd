"""The HTTP client for every call that this service makes for a user. The address is checked when the connection opens,
not when the URL is saved, and the connection uses the checked address. There are no redirects, no cookies, and no
proxies or credentials from the environment; the only exception is `SendFailed`.
"""

import http.client
import re
import socket
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from certifi import where
from urllib3 import BaseHTTPResponse, PoolManager, Timeout
from urllib3.exceptions import HTTPError, SSLError, TimeoutError

from flows.engine.webhook_calls import FORBIDDEN_HEADERS
from flows.header_values import is_header_value
from relayboard.base.tracing import CLIENT, span
from worker.http.addresses import Network
from worker.http.checked_connections import checked_pools
from worker.http.deadlines import Deadline, Watchdog
from worker.http.dialing import Resolve, dial, resolve
from worker.http.errors import SendFailed

CONNECT_TIMEOUT_SECONDS = 5.0
TOTAL_TIMEOUT_SECONDS = 15.0
RESPONSE_LIMIT_BYTES = 256 * 1024
URL_LENGTH = 2048
USER_AGENT = "Relayboard"
HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response. `is_complete` is false if the body was cut off: it was too long or too slow, or the connection
    broke."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_complete: bool
    duration_seconds: float


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
        if not HEADER_NAME.match(name) or not is_header_value(value):
            raise SendFailed("header", f"The header {name[:64]!r} is not valid.")


class SafeHttp:
    """Sends requests with one set of limits; many threads may use it, and share its connections."""

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
        self._timeout = Timeout(connect=self.connect_timeout_seconds, read=total_timeout_seconds)
        self._thread = _ThreadState()
        self._watchdog = Watchdog()
        self._making = threading.Lock()
        self._made: PoolManager | None = None

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Sends an event. Raises SendFailed if there is no response, ValueError for an Authorization header."""
        if any(name.lower() == "authorization" for name in headers):
            raise ValueError("events are sent without an Authorization header")
        return self.send("POST", url, headers=headers, body=body)

    def close(self) -> None:
        """Ends the connections that are kept for the next call."""
        with self._making:
            if self._made is not None:
                self._made.clear()

    def send(self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None = None) -> HttpResponse:
        """One request and its response, with any status. Raises SendFailed if there is no response."""
        with span(method, CLIENT) as call:
            response = self._send(method, url, headers, body)
            call.note(http_request_method=method, server_address=urlsplit(url).hostname or "")
            call.note(http_response_status__code=response.status)
            return response

    def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HttpResponse:
        check_url(url)
        check_headers(headers)
        started = time.monotonic()
        with Deadline(self._watchdog, self.total_timeout_seconds) as deadline:
            self._thread.deadline = deadline
            try:
                response = self._request(method, url, headers, body)
                try:
                    if deadline.has_expired:  # headers that end with the connection count as complete
                        raise TimeoutError
                    content, is_complete = _read_body(response, self.response_limit_bytes)
                finally:
                    # What is left of a response would be taken for the beginning of the next one.
                    response.close()
            except SendFailed:
                raise
            except (HTTPError, http.client.HTTPException, OSError, ValueError) as error:
                raise self._explain(error, url, deadline) from error
            finally:
                self._thread.deadline = None
        duration_seconds = time.monotonic() - started
        return HttpResponse(response.status, response.headers, content, is_complete, duration_seconds)

    def _connect(self, host: str, port: int) -> socket.socket:
        if self.allowed_ports and port not in self.allowed_ports:
            raise SendFailed("address", f"Port {port} is not one that this service may call.")
        limit = min(self.connect_timeout_seconds, max(self._deadline().seconds_left, 0.001))
        return dial(host, port, allowed_networks=self.allowed_networks, timeout_seconds=limit, resolve=self.resolve)

    def _deadline(self) -> Deadline:
        deadline = self._thread.deadline
        assert deadline is not None, "connections are only used inside `send`"
        return deadline

    def _request(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> BaseHTTPResponse:
        # Not by a session of `requests`: it would add cookies, redirects and credentials of the environment, and what
        # it does for a call takes as long as the call.
        sent = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity", **headers}
        return self._pools().urlopen(
            method.upper(),
            url,
            headers=sent,
            body=body,
            redirect=False,
            retries=False,
            timeout=self._timeout,
            preload_content=False,
        )

    def _pools(self) -> PoolManager:
        # Not made before the first call: to read the authorities takes hundredths of a second.
        with self._making:
            if self._made is None:
                self._made = checked_pools(self._connect, self._deadline, self.certificates)
            return self._made

    def _explain(self, error: Exception, url: str, deadline: Deadline) -> SendFailed:
        host = urlsplit(url).hostname
        if deadline.has_expired or isinstance(error, TimeoutError):
            return SendFailed("timeout", f"{host} did not respond within {self.total_timeout_seconds:g} seconds.")
        if isinstance(error, SSLError):
            return SendFailed("tls", f"The secure connection to {host} failed: {_tls_reason(error)}.")
        if isinstance(error, ValueError) and not isinstance(error, OSError):
            return SendFailed("url", "The URL or a header is not valid.")
        return SendFailed("broken", f"{host} closed the connection without a valid response.")


class _ThreadState(threading.local):
    deadline: Deadline | None = None


def _read_body(response: BaseHTTPResponse, limit_bytes: int) -> tuple[bytes, bool]:
    # Only the status says whether an event was accepted, so an incomplete body is not a failure.
    chunks: list[bytes] = []
    size = 0
    try:
        while size <= limit_bytes and (chunk := response.read(limit_bytes + 1 - size, decode_content=False)):
            chunks.append(chunk)
            size += len(chunk)
    except (HTTPError, http.client.HTTPException, OSError, ValueError):
        return b"".join(chunks)[:limit_bytes], False
    return b"".join(chunks)[:limit_bytes], size <= limit_bytes


def _tls_reason(error: Exception) -> str:
    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text or "doesn't match" in text:
        return "its certificate is not valid for this name"
    return "it does not speak TLS as expected"
