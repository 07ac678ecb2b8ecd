"""What stands before the operations of chats on people's sites (`openapi/chat/`): only sites that the channel names may
call them from a browser, and one address makes at most a part of a chat's calls. The widget itself is a file for
everybody.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache, partial
from ipaddress import IPv6Address, ip_address
from pathlib import Path

import anyio.to_thread
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from channels.chats import allowed_origins
from handlers.asgi.console import File, packed
from handlers.asgi.plain_responses import (
    PlainResponse,
    Refusal,
    accepts_gzip,
    detail_response,
    header,
    wrong_method,
)
from handlers.errors import allowed_methods, explain_database
from handlers.request import ChatCaller, context_of
from persistence.channels.visitors import find_chat, find_visitor
from persistence.database import Transaction
from persistence.errors import DatabaseError

PREFIX = "/chat/"
WIDGET = "/chat/widget.js"
PLACE = re.compile(r"/chat/(?P<channel>[0-9a-f-]{36})/[a-z]+\Z")
TOKEN = re.compile(r"Bearer (?P<code>[A-Za-z0-9]{24})\.(?P<token>[A-Za-z0-9_-]{20,64})\Z")
WIDGET_FILE = Path(__file__).with_name("webchat_files") / "widget.js"
WIDGET_HEADERS = {"Cache-Control": "public, max-age=300", "Cross-Origin-Resource-Policy": "cross-origin"}
PREFLIGHT_SECONDS = "600"
ADDRESS_PART = 10
"""An address makes at most this part of the calls of a chat (`RELAYBOARD_CALLBACK_LIMIT`)."""
MOST_ADDRESSES = 10_000
"""That are counted at a time; the one that came longest ago is forgotten."""
NETWORK_BITS = 64
"""Of an address of version 6 that stand for all of a connection's."""


class Calls:
    """How often each address called each chat in the current window of this process."""

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit, self._seconds = limit, seconds
        self._windows: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def spend(self, channel: str, address: str) -> None:
        """Raises Refusal: 429."""
        key, now = (channel, address), time.monotonic()
        began, count = self._windows.pop(key, (now, 0))
        if now >= began + self._seconds:
            began, count = now, 0
        self._windows[key] = began, count + 1
        if len(self._windows) > MOST_ADDRESSES:
            self._windows.popitem(last=False)
        if count >= self._limit:
            wait = {"Retry-After": str(int(began + self._seconds - now) + 1)}
            raise Refusal(429, "Too many calls from this address; try again later.", wait)


class WebChat:
    """ASGI layer for `/chat/`; other requests go to the inner layer, as do those of pages that may call."""

    def __init__(self, app: ASGIApp, calls: Calls) -> None:
        self.app = app
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(PREFIX):
            await self.app(scope, receive, send)
            return
        if path == WIDGET:
            await (wrong_method(scope) or await answer_widget(scope)).send(send)
            return
        methods, found = allowed_methods(path), PLACE.match(path)
        if found is None or not methods:
            await detail_response(404, "There is nothing at this URL.").send(send)
            return
        origin = Request(scope).headers.get("Origin")
        shared = _sharing(send, origin)
        try:
            self._calls.spend(found["channel"], address_of(scope))
            context_of(scope).caller = caller = await _admit(scope, found["channel"], origin)
            if scope["method"] == "OPTIONS":
                await PlainResponse(b"", "", 204, _preflight(methods)).send(shared)
                return
            if scope["method"] == "POST":
                await _count(scope, caller)
        except Refusal as refusal:
            # A page that may not call learns nothing: its answer has no headers for other origins.
            page = detail_response(refusal.status, refusal.text, refusal.headers)
            await page.send(send if refusal.status in (403, 404) else shared)
            return
        except DatabaseError as error:
            await detail_response(*explain_database(error)).send(shared)
            return
        await self.app(scope, receive, shared)


def address_of(scope: Scope) -> str:
    """The address of the client; of version 6 the network, in which one client has all addresses."""
    text = scope["client"][0] if scope.get("client") else ""
    try:
        address = ip_address(text)
    except ValueError:
        return str(text)
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> NETWORK_BITS << NETWORK_BITS))


async def _admit(scope: Scope, channel: str, origin: str | None) -> ChatCaller:
    """The chat that a page shows, and its visitor. A program that is no browser can say any origin: this protects
    visitors, the token the conversation. Raises Refusal: 404, 403."""
    service = context_of(scope).service
    found = TOKEN.match((header(scope, b"authorization") or b"").decode("latin-1"))
    token = (found["code"], found["token"]) if found else None

    def look(tx: Transaction) -> ChatCaller:
        chat = find_chat(tx, channel)
        if chat is None:
            raise Refusal(404, "There is no such chat.")
        is_named = origin in allowed_origins(chat.config) if origin is not None else scope["method"] != "POST"
        if not is_named:
            raise Refusal(403, "This site may not show this chat.")
        visitor = None if token is None else find_visitor(tx, chat, *token)
        return ChatCaller(chat, token, visitor, address_of(scope))

    def read() -> ChatCaller:
        with service.database.reading() as tx:
            return look(tx)

    return await service.pool.run(read, service.limiter)


async def _count(scope: Scope, caller: ChatCaller) -> None:
    """Requests that write count as the calls of a gateway. Raises Refusal."""
    service, source = context_of(scope).service, caller.chat.source
    spend = partial(service.callback_limiter.spend, source.workspace_id, f"callback{source.id}")
    allowance = await service.pool.run(spend, service.limiter)
    if not allowance.is_granted:
        raise Refusal(429, "Too many calls; try again later.", {"Retry-After": str(allowance.reset_seconds)})


def _sharing(send: Send, origin: str | None) -> Send:
    """Sends what the page of this origin may read. The response depends on who asks."""
    shared = [(b"vary", b"Origin")]
    if origin is not None:
        shared.append((b"access-control-allow-origin", origin.encode("latin-1")))
        shared.append((b"access-control-expose-headers", b"Retry-After"))

    async def send_shared(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *shared]}
        await send(message)

    return send_shared


def _preflight(methods: str) -> Mapping[str, str]:
    return {
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID",
        "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    }


async def answer_widget(scope: Scope) -> PlainResponse:
    file = await anyio.to_thread.run_sync(_widget)
    wanted = (header(scope, b"accept-encoding") or b"").decode("latin-1")
    found = file.compressed if file.compressed and accepts_gzip(wanted) else file.plain
    known = (header(scope, b"if-none-match") or b"").decode("latin-1")
    if found.headers["ETag"] in {tag.strip().removeprefix("W/") for tag in known.split(",")}:
        return PlainResponse(b"", "", 304, found.headers)
    return found


@cache
def _widget() -> File:
    return packed(WIDGET_FILE.read_bytes(), "text/javascript; charset=utf-8", WIDGET_HEADERS)
