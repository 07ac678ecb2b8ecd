"""Requests as raw ASGI messages, for what no HTTP client would send."""

import json
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from handlers.contract.routing import read_json
from handlers.request import RequestContext, context_of


@dataclass(slots=True)
class Reply:
    """The answer to a request: status, headers and body; status None when there was none."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Echo:
    """An inner application that records what it gets and responds with 200 and the received body. Like the API it reads
    JSON itself; everything else it accepts unchanged.
    """

    status: int = 200
    scope: MutableMapping[str, Any] = field(default_factory=dict)
    body: bytes | None = None

    @property
    def context(self) -> RequestContext:
        return context_of(self.scope)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        self.scope = scope
        if scope["method"] not in ("GET", "HEAD") and (b"content-type", b"application/json") in scope["headers"]:
            receive = await read_json(scope)
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        self.body = body
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"x-request-id", b"inner")]})
        await send({"type": "http.response.body", "body": body})


def exchange(
    app: Any,
    method: str,
    target: str | bytes,
    chunks: Iterable[bytes] = (),
    headers: Iterable[tuple[str, str]] = (),
    *,
    ends: bool = True,
    scope: MutableMapping[str, Any] | None = None,
    spec_version: str = "2.4",
) -> Reply:
    """Send one request, its body in chunks; with `ends=False` the client leaves before the last one.

    A `scope` of its own goes as it is; else there is a Host header, unless `headers` has one. Up to version 2.3 of
    ASGI, which servers have, a response in pieces listens for the client's end.
    """
    made = scope or _scope(method, target, headers)
    made["asgi"] = {"version": "3.0", "spec_version": spec_version}
    return anyio.run(_exchange, app, made, _messages(chunks, ends))


def _scope(method: str, target: str | bytes, headers: Iterable[tuple[str, str]]) -> dict[str, Any]:
    raw = target.encode() if isinstance(target, str) else target
    path, _, query = raw.partition(b"?")
    given = [(name.lower().encode(), value.encode()) for name, value in headers]
    has_host = any(name == b"host" for name, _ in given)
    return {
        "type": "http",
        "method": method,
        "path": path.decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "headers": given if has_host else [(b"host", b"sms.example.org"), *given],
        "client": ("192.0.2.7", 50123),
    }


def _messages(chunks: Iterable[bytes], ends: bool) -> Iterator[dict[str, Any]]:
    """The body as the server would hand it over, made only as far as it is read."""
    for chunk in chunks:
        yield {"type": "http.request", "body": chunk, "more_body": True}
    if ends:
        yield {"type": "http.request", "body": b"", "more_body": False}


async def _exchange(app: Any, scope: MutableMapping[str, Any], messages: Iterator[dict[str, Any]]) -> Reply:
    reply = Reply()

    async def receive() -> Any:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            reply.body += message.get("body", b"")

    await app(scope, receive, send)
    return reply
