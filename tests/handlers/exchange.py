"""Requests as raw ASGI messages, for what no HTTP client would send."""

import json
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import anyio


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
    """An inner application that notes what reaches it and answers 200 with the body it received."""

    status: int = 200
    scope: MutableMapping[str, Any] = field(default_factory=dict)
    body: bytes | None = None

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.scope["relayboard"]
        return state

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        self.scope = scope
        message = await receive()
        self.body = message["body"]
        assert message["more_body"] is False
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"x-request-id", b"inner")]})
        await send({"type": "http.response.body", "body": message["body"]})


def exchange(
    app: Any,
    method: str,
    target: str | bytes,
    chunks: Iterable[bytes] = (),
    headers: Iterable[tuple[str, str]] = (),
    *,
    ends: bool = True,
) -> Reply:
    """Send one request, its body in chunks; with `ends=False` the client leaves before the last one."""
    return anyio.run(_exchange, app, _scope(method, target, headers), _messages(chunks, ends))


def _scope(method: str, target: str | bytes, headers: Iterable[tuple[str, str]]) -> dict[str, Any]:
    raw = target.encode() if isinstance(target, str) else target
    path, _, query = raw.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "method": method,
        "path": path.decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
        "client": ("192.0.2.7", 50123),
    }


def _messages(chunks: Iterable[bytes], ends: bool) -> Iterator[dict[str, Any]]:
    """The body as the server would hand it over, made only as far as it is read."""
    for chunk in chunks:
        yield {"type": "http.request", "body": chunk, "more_body": True}
    if ends:
        yield {"type": "http.request", "body": b"", "more_body": False}


async def _exchange(app: Any, scope: dict[str, Any], messages: Iterator[dict[str, Any]]) -> Reply:
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
