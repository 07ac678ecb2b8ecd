"""Which pages of other origins may read answers (CORS, as the Fetch standard has it). Pages call generation 2 with a
token: a browser asks first, without it, and is answered by the origin alone; what it then gets it may read if the
token's own workspace names the origin (`handlers/auth.py`). Cookies are for pages of our own origin only, so no answer
allows credentials, and operations without a token are left as they are.
"""

from collections.abc import Collection, Mapping
from functools import cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handlers.asgi.plain_responses import PlainResponse, Refusal, detail_response, header
from handlers.asgi.rate_limiter import Calls, address_of
from handlers.errors import explain_database
from handlers.request import context_of
from openapi.bundle import bundle, operations
from persistence.errors import DatabaseError
from persistence.tables.accounts import ORIGIN_LENGTH

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
