"""The layers that every request passes: a request id for every response, strict checks of URL and Host, limits for
bodies; and which pages of other origins may read answers (CORS, as the Fetch standard has it).

Pages call generation 2 with a token: a browser asks first, without it, and is answered by the origin alone; what it
then gets it may read if the token's own workspace names the origin (`handlers/auth.py`). Cookies are for pages of our
own origin only, so no answer allows credentials, and operations without a token are left as they are.
"""

import logging
import re
import time
import uuid
from collections.abc import Collection, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handlers.asgi.gateway import CALLBACK_BYTES, CALLBACK_PREFIX, PREFIXES, hide_secret, hide_token
from handlers.asgi.health import count_request
from handlers.asgi.plain_responses import ClientGone, PlainResponse, Refusal, detail_response, header
from handlers.asgi.rate_limiter import Calls, address_of
from handlers.asgi.request_body import (
    CHAT_PREFIX,
    TYPED_PREFIXES,
    Body,
    BodyMemory,
    check_encodings,
    check_host,
    check_url,
    replay,
    take_media_type,
)
from handlers.errors import explain_database
from handlers.request import KEY, RequestContext, context_of
from openapi.bundle import bundle, operations
from persistence.errors import DatabaseError
from persistence.tables.accounts import ORIGIN_LENGTH
from relayboard.base.logs import current_request_id, write_line
from relayboard.base.settings import Settings

access = logging.getLogger("relayboard.access")
errors = logging.getLogger("relayboard.api")

FORM_ENVELOPE_BYTES = 1024 * 1024
UPLOAD_LIMIT_BYTES = 25 * 1024 * 1024 + FORM_ENVELOPE_BYTES
JSON_TYPE = b"application/json"
FORM_TYPE = b"multipart/form-data"
READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods whose bodies nobody reads."""
PROBE_PREFIXES = ("/health/", "/metrics")
STATIC_PREFIXES = ("/console/", "/guides/", "/api/v1/docs/", "/api/v2/docs/")
CONSOLE = "/"
UPLOAD_PATHS = frozenset({"/api/v2/media.json", "/api/v2/contact_imports.json"})
LARGER_BODIES = {
    "/api/v2/definitions.json": 8 * 1024**2,
    **dict.fromkeys(
        ("/api/v2/flow_issues.json", "/api/v2/flow_revisions.json", "/api/v2/flow_tests.json"), 2 * 1024**2
    ),
    **dict.fromkeys(("/api/v2/simulations.json", "/api/v2/flow_texts.json"), 4 * 1024**2),
}
"""Bytes of JSON that some operations accept, if that is more than the others do: files of a whole workspace's flows,
a flow, a flow with a conversation, and its texts as a file."""
PHONE_PREFIX = "/relayers/"
CHAT_FILES, CHAT_BODY_BYTES = "/files", 64 * 1024
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")
LOGGED_PATH_LENGTH = 200


class Guard:
    """ASGI layer that creates the context of each request, and returns refusals and failures as `{"detail": "..."}`.
    Bodies under `/api/` are read once the caller is known; bodies of phones, which have no token, are read here. The
    log contains no query and no body.
    """

    def __init__(self, app: ASGIApp, settings: Settings, *, upload_paths: Collection[str] = UPLOAD_PATHS) -> None:
        self.app = app
        self.body_limit_bytes = settings.body_limit_bytes
        self.body_timeout_seconds = settings.body_timeout_seconds
        self.has_metrics = settings.metrics
        self.upload_paths = upload_paths
        self.memory = BodyMemory()
        self.is_stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self.app(scope, self._noticing_shutdown(receive), send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = _request_id(scope)
        method, path = scope["method"], scope["path"]
        body = self._body_of(scope, receive)
        sender = _Sender(send, request_id, body, head_only=method == "HEAD")
        token = current_request_id.set(request_id)
        began = time.perf_counter()
        try:
            async with AsyncExitStack() as closing:
                closing.callback(body.forget)
                scope[KEY] = RequestContext(request_id, body, closing)
                await self._pass_on(scope, body, sender)
        finally:
            seconds = time.perf_counter() - began
            self._note(scope, method, path, sender.status, seconds)
            current_request_id.reset(token)

    def _body_of(self, scope: Scope, receive: Receive) -> Body:
        path = scope["path"]
        is_upload = scope["method"] == "POST" and self._takes_upload(path)
        plain_bytes = max(self.body_limit_bytes, LARGER_BODIES.get(path, 0))
        if path.startswith(CHAT_PREFIX):
            plain_bytes = min(plain_bytes, CHAT_BODY_BYTES)
        if path.startswith(CALLBACK_PREFIX):
            plain_bytes = CALLBACK_BYTES
        limit_bytes = UPLOAD_LIMIT_BYTES if is_upload else plain_bytes
        seconds = self.body_timeout_seconds
        return Body(scope, receive, limit_bytes=limit_bytes, timeout_seconds=seconds, memory=self.memory)

    def _takes_upload(self, path: str) -> bool:
        return path in self.upload_paths or (path.startswith(CHAT_PREFIX) and path.endswith(CHAT_FILES))

    async def _pass_on(self, scope: Scope, body: Body, sender: "_Sender") -> None:
        try:
            if self.is_stopping:
                raise Refusal(503, "The service is stopping.", {"Retry-After": "1", "Connection": "close"})
            await self.app(scope, await self._checked(scope, body), sender.send)
        except Refusal as refusal:
            await detail_response(refusal.status, refusal.text, refusal.headers, scope["path"]).send(sender.send)
        except ClientGone:
            return
        except Exception:
            errors.exception("unexpected failure")
            if sender.status is not None:
                raise  # part of the response is sent: the server has to close the connection
            await detail_response(500, "Internal server error.").send(sender.send)

    async def _checked(self, scope: Scope, body: Body) -> Receive:
        """The receive callable for the inner layers, after all checks. Raises Refusal or ClientGone."""
        check_host(scope)
        check_url(scope, is_any_text=scope["path"].startswith(PREFIXES))
        if scope["method"] not in READING:
            check_encodings(scope)
        path = scope["path"]
        if path.startswith(TYPED_PREFIXES):
            plain = FORM_TYPE if self._takes_upload(path) else JSON_TYPE
            context_of(scope).declared_type = take_media_type(scope, plain)
        elif path.startswith(PHONE_PREFIX):
            raw = context_of(scope).raw_body = await body.read()
            return replay(raw, body.receive)
        return body.receive

    def _note(self, scope: Scope, method: str, path: str, status: int | None, seconds: float) -> None:
        """Write the access log line and count the request; a client that disconnected counts as 499, and that a sync
        was held does not count as slow. Probes and files
        that do not change are lines of the level debug, unless a file is refused."""
        is_probe = path.startswith(PROBE_PREFIXES)
        if self.has_metrics and not is_probe:
            count_request(method, path, status or 499, seconds - context_of(scope).held_seconds)
        is_file = (path == CONSOLE or path.startswith(STATIC_PREFIXES)) and (status or 499) < 400
        level = logging.DEBUG if is_probe or is_file else logging.INFO
        client = scope.get("client")
        extra = {"duration_ms": round(seconds * 1000, 1), "client": client[0] if client else None}
        shown = hide_token(hide_secret(path))[:LOGGED_PATH_LENGTH]
        write_line(access, level, f"{method} {shown} {status or 499}", extra)

    def _noticing_shutdown(self, receive: Receive) -> Receive:
        async def receive_lifespan() -> Message:
            message = await receive()
            self.is_stopping = message["type"] == "lifespan.shutdown"
            return message

        return receive_lifespan


def _request_id(scope: Scope) -> str:
    """The client's request id if it is valid, otherwise a new one."""
    given = header(scope, b"x-request-id")
    return given.decode() if given is not None and REQUEST_ID.match(given) else str(uuid.uuid4())


class _Sender:
    """Adds the headers that every response has, leaves out the body for HEAD, and stores the status."""

    def __init__(self, send: Send, request_id: str, body: Body, *, head_only: bool) -> None:
        self._send = send
        self._request_id = request_id.encode()
        self._body = body
        self._head_only = head_only
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if self._body.is_client_gone:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": self._complete(message.get("headers", []))}
        elif self._head_only and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)

    def _complete(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Caches store nothing unless an inner layer allows it, and browsers must not guess content types."""
        headers = [pair for pair in given if pair[0].lower() != b"x-request-id"]
        names = {name.lower() for name, _ in headers}
        headers.append((b"x-request-id", self._request_id))
        if b"cache-control" not in names:
            headers.append((b"cache-control", b"no-store"))
        if b"x-content-type-options" not in names:
            headers.append((b"x-content-type-options", b"nosniff"))
        if self._body.is_awaited and b"connection" not in names:
            # It is unknown whether the client still sends the body that it was not asked for: no request can follow.
            headers.append((b"connection", b"close"))
        return headers


PREFLIGHT_SECONDS = "600"
"""How long a browser does not ask again."""
READABLE = (
    "Allow, ETag, Idempotency-Replayed, Location, Messages-Failed, Messages-Handed-Over, Next-Modified-After, "
    "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, WWW-Authenticate, X-Request-Id"
)
SENDABLE = "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, Prefer, X-Request-Id"
LOOKUPS, LOOKUP_SECONDS = 600, 60.0
"""How many origins that are not kept in memory an address may have looked up in how many seconds."""


class CrossOrigin:
    """ASGI layer around generation 2: answers what browsers ask before they call, and lets pages read answers. Requests
    of programs and of our own pages, which have no `Origin` or no token, pass by. No answer to them may be stored
    (`no-store`), so only answers to other origins say that they depend on it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._calls = Calls(LOOKUPS, LOOKUP_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        methods = called_with_tokens().get(scope["path"]) if scope["type"] == "http" else None
        origin = header(scope, b"origin")
        is_asking = scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method") is not None
        if methods is None or origin is None or not (is_asking or header(scope, b"authorization")):
            await self.app(scope, receive, send)
            return
        context, vary = context_of(scope), sharing(send, None)
        try:
            is_known = await self._knows(scope, origin.decode("latin-1"))
        except Refusal as refusal:
            await detail_response(refusal.status, refusal.text, refusal.headers, scope["path"]).send(vary)
            return
        except DatabaseError as error:
            await detail_response(*explain_database(error), scope["path"]).send(vary)
            return
        if not is_known:
            await self.app(scope, receive, vary)
            return
        context.origin = origin.decode("latin-1")
        if is_asking:
            await PlainResponse(b"", "", 204, preflight(methods, SENDABLE)).send(
                sharing(send, context.origin, READABLE)
            )
            return

        async def send_shared(message: Message) -> None:
            await sharing(send, context.origin, READABLE)(message)

        await self.app(scope, receive, send_shared)

    async def _knows(self, scope: Scope, origin: str) -> bool:
        """Whether any workspace names the origin. Raises Refusal: an address had too many looked up."""
        service = context_of(scope).service
        if len(origin) > ORIGIN_LENGTH:
            return False
        if service.kept_origin(origin) is None:
            self._calls.spend("origins", address_of(scope))
        return await service.allows_origin(origin)


@cache
def called_with_tokens() -> Mapping[str, str]:
    """The methods of each path of generation 2 that a token may call."""
    document, found = bundle("v2"), dict[str, set[str]]()
    base = document["servers"][0]["url"]
    for path, method, operation in operations(document):
        if any("token" in way for way in operation.get("security", document["security"]) or ()):
            found.setdefault(base + path, set()).add(method.upper())
    return {path: listed(methods) for path, methods in found.items()}


def listed(methods: Collection[str]) -> str:
    """Methods for a header; HEAD is allowed wherever GET is."""
    return ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))


def sharing(send: Send, origin: str | None, readable: str = "") -> Send:
    """Sends what a page of this origin may read, nobody's if there is none. The response depends on who asks."""
    shared = [(b"vary", b"Origin")]
    if origin is not None:
        shared.append((b"access-control-allow-origin", origin.encode("latin-1")))
        shared.append((b"access-control-expose-headers", readable.encode()))

    async def send_shared(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *shared]}
        await send(message)

    return send_shared


def preflight(methods: str, sendable: str) -> Mapping[str, str]:
    """Headers of the answer to a browser that asks what a page may send."""
    return {
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": sendable,
        "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    }
