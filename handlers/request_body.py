"""Reading the body of a request, never more of it than is allowed."""

from collections.abc import MutableMapping
from typing import Any

import anyio

from handlers.pages import header
from handlers.refusals import ClientGone, Refusal

READ_TIMEOUT_SECONDS = 300.0
DRAIN_TIMEOUT_SECONDS = 10.0
DRAIN_LIMIT_BYTES = 64 * 1024 * 1024
LONGEST_LENGTH = 15


async def read_body(scope: MutableMapping[str, Any], receive: Any, limit_bytes: int) -> bytes:
    """The whole body. Raises Refusal (413 beyond the limit, 400 for a wrong length or a stall) or ClientGone."""
    declared = declared_length(scope)
    if declared is not None and declared > limit_bytes:
        await _drain(scope, receive, 0)
        raise _too_large(limit_bytes)
    if declared is None and header(scope, b"transfer-encoding") is None:
        return await _collect(scope, receive, limit_bytes)  # nothing to wait for, and a timer has its price
    try:
        with anyio.fail_after(READ_TIMEOUT_SECONDS):
            body = await _collect(scope, receive, limit_bytes)
    except TimeoutError as error:
        raise Refusal(400, "The request body took too long to arrive.", {"Connection": "close"}) from error
    if declared is not None and declared != len(body):
        raise Refusal(400, "The Content-Length is not the length of the request body.", {"Connection": "close"})
    return body


def declared_length(scope: MutableMapping[str, Any]) -> int | None:
    """The Content-Length in bytes; None without one. Raises Refusal(400) when it is no number."""
    text = header(scope, b"content-length")
    if text is None:
        return None
    if not text.isdigit() or len(text) > LONGEST_LENGTH:
        raise Refusal(400, "The Content-Length is not valid.", {"Connection": "close"})
    return int(text)


def replay(body: bytes, receive: Any) -> Any:
    """A receive callable that gives the body again in one message, then whatever comes."""
    is_sent = False

    async def receive_again() -> Any:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


async def _collect(scope: MutableMapping[str, Any], receive: Any, limit_bytes: int) -> bytes:
    body = bytearray()
    while True:
        chunk, more = await _next_chunk(receive)
        body += chunk
        if len(body) > limit_bytes:
            if more:
                await _drain(scope, receive, len(body))
            raise _too_large(limit_bytes)
        if not more:
            return bytes(body)


async def _drain(scope: MutableMapping[str, Any], receive: Any, received_bytes: int) -> None:
    """Read and forget the rest: a client that is still sending would see a broken connection, not the answer."""
    if header(scope, b"expect") is not None:
        return
    with anyio.move_on_after(DRAIN_TIMEOUT_SECONDS):
        more = True
        while more and received_bytes <= DRAIN_LIMIT_BYTES:
            chunk, more = await _next_chunk(receive)
            received_bytes += len(chunk)


async def _next_chunk(receive: Any) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message.get("body", b""), message.get("more_body", False)


def _too_large(limit_bytes: int) -> Refusal:
    return Refusal(413, f"The request body is larger than {limit_bytes} bytes.", {"Connection": "close"})
