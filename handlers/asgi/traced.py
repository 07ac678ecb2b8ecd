"""ASGI layer that creates a span for each request, in the client's trace if there is one."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handlers.asgi.metrics import METHODS, OTHER, route_of
from relayboard.base.tracing import SERVER, is_tracing, span

PROBES = ("/health/", "/metrics")


class Traced:
    """Spans are named by routes of the contract, because paths may contain secrets."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_tracing() or scope["path"].startswith(PROBES):
            await self.app(scope, receive, send)
            return
        route = route_of(scope["path"])
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        parent = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        name = method if route == OTHER else f"{method} {route[1]}"
        with span(name, SERVER, parent) as request:
            request.note(http_request_method=method, http_route=route[1], relayboard_generation=route[0])

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    sent = {name.lower(): value for name, value in message["headers"]}
                    request_id = sent.get(b"x-request-id", b"").decode("latin-1")
                    request.note(http_response_status__code=message["status"], relayboard_request__id=request_id)
                    if message["status"] >= 500:
                        request.fail(str(message["status"]))
                await send(message)

            await self.app(scope, receive, noting)
