"""What stands before the operations of chats on people's sites (`openapi/chat/`): only sites that the channel names may
call them from a browser, and one address makes at most a part of a chat's calls. The widget itself is a file for
everybody.
"""

import re
from functools import cache, partial
from pathlib import Path

import anyio.to_thread
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from channels.chats import allowed_origins
from handlers.asgi.console import File, packed
from handlers.asgi.guard import preflight, sharing
from handlers.asgi.plain_responses import (
    PlainResponse,
    Refusal,
    accepts_gzip,
    detail_response,
    header,
    wrong_method,
)
from handlers.asgi.rate_limiter import Calls, address_of
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
READABLE, SENDABLE = "Retry-After", "Authorization, Content-Type, Last-Event-ID"
ADDRESS_PART = 10
"""An address makes at most this part of the calls of a chat (`RELAYBOARD_CALLBACK_LIMIT`)."""


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
        shared = sharing(send, origin, READABLE)
        try:
            self._calls.spend(found["channel"], address_of(scope))
            context_of(scope).caller = caller = await _admit(scope, found["channel"], origin)
            if scope["method"] == "OPTIONS":
                await PlainResponse(b"", "", 204, preflight(methods, SENDABLE)).send(shared)
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
