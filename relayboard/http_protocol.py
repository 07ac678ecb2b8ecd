"""HTTP over one connection, with time limits: uvicorn's protocol does not drop clients that send slowly. A connection
always waits for one of these: the head of a request, its body (limited by the guard), the service, or the client to
read the response. Each wait for the client has its own limit.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from handlers.asgi.plain_responses import with_code
from relayboard.unknown_methods import UnknownMethods

logger = logging.getLogger("relayboard.api")

HEAD = b"HTTP/1.1 "
SAY_SECONDS = 60.0
HEAD_LIMIT_BYTES = 64 * 1024
HEAD_TOO_LARGE = f"The head of the request is larger than {HEAD_LIMIT_BYTES} bytes."
BETWEEN_BYTES = 4
"""A colon, a space and the end of a line."""
LINGER_SECONDS = 30.0
"""How long a client may continue to send a body after its response was sent: if it saw a reset, it might lose the
response."""
SEND_TIMEOUT_SECONDS = 60.0
"""A client that reads nothing of its response for this long is dropped."""


class HeadTooLarge(Exception):
    """Ends the parsing of a request whose head is too large."""


@dataclass(slots=True)
class Patience:
    """What the connections of one process share: their limits, and those that wait for a head, oldest first. If there
    are more connections than allowed, the one that has waited longest is closed.
    """

    head_timeout_seconds: float
    most_connections: int
    idle: "OrderedDict[PatientProtocol, None]" = field(default_factory=OrderedDict)
    said_at: float = -SAY_SECONDS

    def say(self, connections: int) -> None:
        """Says from time to time that connections are closed because there are too many."""
        now = time.monotonic()
        if now - self.said_at >= SAY_SECONDS:
            self.said_at = now
            logger.warning(
                "%d connections are open, and %d may be: those that have waited longest for a request are closed",
                connections,
                self.most_connections,
            )

    def make_protocol(self) -> type[asyncio.Protocol]:
        """The protocol class for uvicorn's `http` option."""
        return type("Protocol", (UnknownMethods, PatientProtocol), {"patience": self})


class CorkedTransport(asyncio.Transport):
    """The transport of a connection's responses: the head of each waits for the first piece of the body, at the latest
    until the loop's next round, because each write to the socket costs a tenth of a small response.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop = transport, loop
        self._head = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        piece = bytes(data)  # bytes, which uvicorn writes, are not copied
        if self._head:
            head, self._head = self._head, b""
            self._transport.writelines((head, piece) if piece else (head,))
        elif piece.startswith(HEAD):
            self._head = piece
            self._loop.call_soon(self._send_head)
        else:
            self._transport.write(piece)

    def close(self) -> None:
        self._send_head()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def _send_head(self) -> None:
        if self._head and not self._transport.is_closing():
            self._transport.write(self._head)
        self._head = b""


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with time limits for heads, unread responses and bodies that nobody reads any more."""

    patience: Patience

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._corked: CorkedTransport
        self._head_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._field_bytes = 0
        self._unsent_bytes = 0
        self._is_in_message = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._corked = CorkedTransport(transport, self.loop)
        self._await_head()
        if len(self.connections) > self.patience.most_connections and self.patience.idle:
            self.patience.say(len(self.connections))
            oldest, _ = self.patience.idle.popitem(last=False)
            oldest._drop()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head_timer, self._linger_timer, self._send_timer, self.timeout_keep_alive_task):
            _cancel(timer)
        self._head_timer = self._linger_timer = self._send_timer = self.timeout_keep_alive_task = None
        self.patience.idle.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_in_message:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_in_message or self.transport.is_closing():
            return
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if self._head_bytes > HEAD_LIMIT_BYTES and not is_answering:
            self.send_400_response(HEAD_TOO_LARGE)
        elif self._head_bytes > HEAD_LIMIT_BYTES:
            self._drop()
        elif not is_answering:
            self._await_head()

    def on_message_begin(self) -> None:
        self._field_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + BETWEEN_BYTES)
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        """Counts the parts of heads, and of what follows a body in pieces: one read may bring a whole head, its body
        and the next request.
        """
        self._field_bytes += size
        if self._field_bytes > HEAD_LIMIT_BYTES:
            raise HeadTooLarge

    def on_headers_complete(self) -> None:
        self._is_in_message = True
        self._head_bytes = 0
        _cancel(self._head_timer)
        self._head_timer = None
        self.patience.idle.pop(self, None)
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.transport = self._corked

    def on_message_complete(self) -> None:
        self._is_in_message = False
        _cancel(self._linger_timer)
        self._linger_timer = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_closing()
        elif self._is_in_message:
            self._linger_timer = self.loop.call_later(LINGER_SECONDS, self._drop)
        elif self.timeout_keep_alive_task is not None:
            self.patience.idle[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._send_timer)
        self._send_timer = None
        self._watch_closing()

    def timeout_keep_alive_handler(self) -> None:
        self._drop()

    def send_400_response(self, msg: str) -> None:
        """The response to input that is not HTTP, in the form of our other errors."""
        if self._field_bytes > HEAD_LIMIT_BYTES:
            if self.cycle is not None and not self.cycle.response_complete:
                self._drop()  # an answer is on its way, and this must not be taken for a part of it
                return
            msg = HEAD_TOO_LARGE
        path = getattr(self, "url", b"").decode("latin-1")
        body = orjson.dumps(with_code(path, 400, {"detail": msg}))
        lines = [
            b"HTTP/1.1 400 Bad Request",
            *(name + b": " + value for name, value in self.server_state.default_headers),
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"cache-control: no-store",
            b"x-content-type-options: nosniff",
            b"connection: close",
            b"",
        ]
        self.transport.write(b"\r\n".join(lines) + b"\r\n" + body)
        self._drop()

    def _await_head(self) -> None:
        """Start the time limit for the whole head, however slowly its bytes arrive."""
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.patience.head_timeout_seconds, self._drop)
            self.patience.idle[self] = None

    def _watch_sending(self) -> None:
        """Check regularly whether the client has read something."""
        self._unsent_bytes = self.transport.get_write_buffer_size()
        _cancel(self._send_timer)
        self._send_timer = self.loop.call_later(SEND_TIMEOUT_SECONDS, self._check_sending)

    def _check_sending(self) -> None:
        unsent_bytes = self.transport.get_write_buffer_size()
        if unsent_bytes and unsent_bytes >= self._unsent_bytes:
            self.transport.abort()
        elif unsent_bytes:
            self._watch_sending()

    def _drop(self) -> None:
        """Close the connection; pending data is still sent as long as the client reads some of it."""
        self.patience.idle.pop(self, None)
        if not self.transport.is_closing():
            self.transport.close()
        self._watch_closing()

    def _watch_closing(self) -> None:
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self._watch_sending()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
