"""Calls an ASGI application as the server does, in this process."""

import asyncio
import random
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

from tests.fuzz.answers import Answer
from tests.fuzz.asks import Ask

PATIENCE_SECONDS = 300.0
LEAVES_EARLY = 0.003
"""How often a client is gone before it sent all or got its answer."""


async def call(app: ASGIApp, ask: Ask, chance: random.Random) -> Answer | None:
    """The answer, None to a client that left. Raises what the application raises, and TimeoutError."""
    leaves = chance.random() < LEAVES_EARLY
    parts = _parts(ask.body, chance)
    ended = asyncio.Event()
    sent: list[Message] = []

    async def receive() -> Message:
        if parts and not (leaves and len(parts) == 1):
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}
        if not leaves:
            await ended.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            ended.set()

    await asyncio.wait_for(app(scope_of(ask), receive, send), PATIENCE_SECONDS)
    ended.set()
    return None if leaves else read_answer(sent)


def _parts(body: bytes, chance: random.Random) -> list[bytes]:
    if len(body) < 2 or chance.random() < 0.8:
        return [body]
    place = chance.randrange(1, len(body))
    return [body[:place], body[place:]]


def scope_of(ask: Ask) -> dict[str, Any]:
    """The scope that uvicorn makes of a request."""
    headers = [(name.encode(), value.encode("latin-1")) for name, value in ask.headers]
    named = {name for name, _ in headers}
    if ask.body:
        headers.append((b"content-length", str(len(ask.body)).encode()))
    if b"host" not in named:
        headers.append((b"host", b"testserver"))
    path, _, query = ask.target.partition("?")
    query = query.partition("#")[0]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": "http",
        "server": ("testserver", 80),
        "client": ("127.0.0.1", 40000),
        "method": ask.method,
        "root_path": "",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "headers": headers,
        "state": {},
    }


def read_answer(sent: list[Message]) -> Answer:
    """The answer that messages make. Raises AssertionError if they make none."""
    assert sent and sent[0]["type"] == "http.response.start", "no answer"
    headers: dict[str, str] = {}
    for name, value in sent[0]["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(int(sent[0]["status"]), headers, body)
