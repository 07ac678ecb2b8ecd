"""Prometheus metrics of the API (requests and their duration by generation, route and status), and a span for each
request, in the client's trace if there is one.
"""

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openapi.bundle import GENERATIONS, bundle, matches
from relayboard.base.metrics import PoolGauges, render
from relayboard.base.tracing import SERVER, is_tracing, span

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
OTHER = ("none", "other")

registry = CollectorRegistry()
requests = Counter(
    "relayboard_requests", "Requests answered.", ("generation", "route", "method", "status"), registry=registry
)
durations = Histogram(
    "relayboard_request_seconds",
    "Seconds from the arrival of a request to the end of its response.",
    ("generation", "route", "method"),
    registry=registry,
    buckets=BUCKETS_SECONDS,
)
connections = PoolGauges(registry)

PROBES = ("/health/", "/metrics")


def count_request(method: str, path: str, status: int, seconds: float) -> None:
    counter, histogram = _series(*route_of(path), method if method in METHODS else "other", str(status))
    counter.inc()
    histogram.observe(seconds)


def render_metrics(*collectors: Collector) -> bytes:
    """All metrics in the text format that Prometheus reads."""
    return render(registry, *collectors)


def route_of(path: str) -> tuple[str, str]:
    """The generation and path template of a request; `none` and `other` for everything else, to keep the number of
    labels small."""
    routes = _routes()
    known = routes.get(path)
    if known is not None:
        return known
    alike = _templates().get(path.count("/"), ())
    return next((place for template, place in alike if matches(template, path)), OTHER)


@cache
def _templates() -> dict[int, list[tuple[str, tuple[str, str]]]]:
    """The routes with parts that vary, by their number of slashes: every path that is none of ours is compared."""
    found: dict[int, list[tuple[str, tuple[str, str]]]] = {}
    for template, place in _routes().items():
        if "{" in template:
            found.setdefault(template.count("/"), []).append((template, place))
    return found


@cache
def _routes() -> dict[str, tuple[str, str]]:
    routes = {}
    for generation in GENERATIONS:
        document = bundle(generation)
        base = document["servers"][0]["url"]
        for path in document["paths"]:
            routes[base + path] = (generation, base + path)
    return routes


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


@cache
def _series(generation: str, route: str, method: str, status: str) -> tuple[Counter, Histogram]:
    """Cached, because looking up a series by its labels costs more than counting."""
    return requests.labels(generation, route, method, status), durations.labels(generation, route, method)
