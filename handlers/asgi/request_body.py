"""The body of a request: read late, with limits for its size and for the time that the client may take."""

import asyncio
import time
from dataclasses import dataclass

from starlette.types import Message, Receive, Scope

from handlers.asgi.plain_responses import ClientGone, Refusal, header

SLOWEST_BYTES_PER_SECOND = 4096
HELD_LIMIT_BYTES = 64 * 1024 * 1024
LONGEST_LENGTH = 15


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
