"""What goes over the wire between a simulated phone and its server: requests over real HTTP, shown to developers who
ask for it, and answers that can be lost on their way.
"""

import re
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import urlsplit

import requests

from relayboard.base.certificates import explain_tls

TIMEOUT_SECONDS = 120.0
MOST_PUSHED_BYTES = 4096
SECRET = re.compile(r'("relayer_secret"\s*:\s*")[^"]*')
MASKED = r"\1********"
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code != ord("\n")}
"""A terminal must not obey what a server answers."""


@dataclass(frozen=True, slots=True)
class WireReply:
    """The status and the JSON object of a reply; the object is empty if there was none."""

    status: int
    document: dict[str, Any]

    @property
    def refusal(self) -> str | None:
        """What the server says against the request; None if it took it."""
        if 200 <= self.status < 300:
            return None
        number = f", error_id {self.document['error_id']}" if "error_id" in self.document else ""
        reason = self.document.get("error") or self.document.get("detail")
        return f"{self.status}{number}: {reason}" if reason else f"{self.status}{number}"


class NoReply(Exception):
    """The request or its reply was lost."""


class Transport(Protocol):
    """Sends a request to the server; raises NoReply if there is no reply."""

    def post(self, path: str, query: Mapping[str, str], body: bytes) -> WireReply: ...


class PushListener:
    """Listens on a local port for pushes, as the endpoint of UnifiedPush that a phone names."""

    def __init__(self, port: int) -> None:
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MOST_PUSHED_BYTES))
                self.send_response(201)
                self.send_header("Content-Length", "0")
                self.end_headers()
                listener._pushed.set()

            def log_message(self, format: str, *args: Any) -> None:
                return None

        self._pushed = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="pushes", daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def wait(self, seconds: float) -> bool:
        """Waits for a push, at most so long; whether there was one since the last time."""
        was_pushed = self._pushed.wait(seconds)
        self._pushed.clear()
        return was_pushed

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class HttpTransport:
    """Requests over real HTTP. `shows` prints them and their answers; `loses` says, for each answer, whether it is
    thrown away after the server has sent it.
    """

    def __init__(self, server_url: str, *, shows: bool = False, loses: Callable[[], bool] = lambda: False) -> None:
        self.server_url = server_url.rstrip("/")
        self.session = requests.Session()
        self.session.trust_env = False
        self.shows = shows
        self.loses = loses

    def post(self, path: str, query: Mapping[str, str], body: bytes) -> WireReply:
        headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "RapidPro/13"}
        try:
            request = self.session.prepare_request(
                requests.Request("POST", self.server_url + path, headers=headers, params=dict(query), data=body)
            )
            if self.shows:
                show(">", f"POST {request.path_url}", headers["Content-Type"], body)
            response = self.session.send(request, timeout=TIMEOUT_SECONDS)
            is_lost = self.loses()
            if self.shows:
                first = f"{response.status_code} {response.reason}" + (" (lost: --lose-replies)" if is_lost else "")
                show("<", first, response.headers.get("Content-Type", ""), response.content)
            document = response.json() if response.content else {}
        except (requests.RequestException, ValueError) as error:
            raise NoReply(f"{_host_of(self.server_url)}{path}: {_reason_of(error)}") from error
        if is_lost:
            raise NoReply(f"{_host_of(self.server_url)}{path}: the answer was lost, as --lose-replies asks for")
        return WireReply(response.status_code, document if isinstance(document, dict) else {})


def show(mark: str, first: str, content_type: str, body: bytes) -> None:
    """Writes a request or an answer to stderr, for stdout has what the command answers. What is signed stands there
    byte for byte; the secret that signs it does not.
    """
    text = "\n".join([first, f"Content-Type: {content_type}", "", body.decode("utf-8", "replace")])
    lines = SECRET.sub(MASKED, text).translate(CONTROLS).split("\n")
    sys.stderr.write("".join(f"{mark} {line}".rstrip() + "\n" for line in lines))
    sys.stderr.flush()


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return url


def _reason_of(error: Exception) -> str:
    """In words without the URL, whose query has the signature."""
    if isinstance(error, requests.Timeout):
        return f"nothing within {TIMEOUT_SECONDS:.0f} seconds"
    if isinstance(error, requests.JSONDecodeError):
        return "the reply is not JSON"
    if isinstance(error, ValueError):
        return "this is not the URL of a server"
    why = explain_tls(error)
    if why is not None:
        return f"the secure connection failed: {why}"
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and below.strerror:
            return below.strerror
        below = below.__cause__ or below.__context__
    return "the connection was lost"
