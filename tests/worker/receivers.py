"""Real receivers: a small threaded HTTP server that records what it gets and answers as told."""

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from testbed.patience import PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Respond = Callable[[Received], Reply]


class Receiver:
    """`url` is where it listens, `received` what it got so far; `respond` may be replaced at any time."""

    def __init__(self, respond: Respond, tls: ssl.SSLContext | None = None) -> None:
        self.respond = respond
        self.received: list[Received] = []
        self.arrived = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.receiver = self
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}/hook"

    def wait_for(self, count: int, timeout_seconds: float = PATIENCE_SECONDS) -> bool:
        """Whether that many requests came in time."""
        with self.arrived:
            return self.arrived.wait_for(lambda: len(self.received) >= count, timeout_seconds)

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    receiver: Receiver


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        with receiver.arrived:
            receiver.received.append(request)
            receiver.arrived.notify_all()
        reply = receiver.respond(request)
        # Whoever asked may have given up meanwhile.
        with contextlib.suppress(ConnectionError):
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        return None


@contextlib.contextmanager
def receiving(respond: Respond | None = None, *, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A running receiver that answers 200 unless told otherwise, with `tls` over secure connections."""
    receiver = Receiver(respond or (lambda request: Reply()), tls)
    receiver.start()
    try:
        yield receiver
    finally:
        receiver.stop()


@contextlib.contextmanager
def answering_with(raw: Iterable[bytes], pause_seconds: float = 0.0, *, first: bytes = b"") -> Iterator[str]:
    """The URL of a receiver that writes these bytes whatever it is asked, with a pause before each piece. `first`
    answers the first request of each connection, if it is given.
    """
    stopped = threading.Event()

    class Raw(BaseHTTPRequestHandler):
        def handle(self) -> None:
            self.connection.recv(65536)
            if first:
                self.connection.sendall(first)
                self.connection.recv(65536)
            with contextlib.suppress(ConnectionError):
                for piece in raw:
                    stopped.wait(pause_seconds)
                    self.connection.sendall(piece)

    server = _Server(("127.0.0.1", 0), Raw)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
