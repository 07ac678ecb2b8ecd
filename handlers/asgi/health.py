"""Health and metrics of the process: `/health/live`, `/health/ready`, `/metrics`.

Prometheus metrics of the API (requests and their duration by generation, route and status), and a span for each
request, in the client's trace if there is one.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial

import anyio
import anyio.to_thread
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handlers.asgi.backlog_metrics import BacklogCollector
from handlers.asgi.plain_responses import PlainResponse, header, json_response, wrong_method
from handlers.contract.operations import matches
from handlers.threads import Lane
from openapi.bundle import GENERATIONS, bundle
from persistence.database import Database
from persistence.errors import DatabaseError, fault_of
from persistence.migrations import MigrationError, check_schema
from persistence.service.diagnosis import Trouble, find_troubles
from relayboard.base.metrics import CONTENT_TYPE, PoolGauges, render
from relayboard.base.probe import PROBE_HEADER, PROBE_PATH, is_probe
from relayboard.base.settings import Settings
from relayboard.base.tracing import SERVER, is_tracing, span

logger = logging.getLogger("relayboard.health")

CHECK_TIMEOUT_SECONDS = 3.0
NOT_STORED = {"Cache-Control": "no-store"}

Check = Callable[[], Awaitable[Sequence[Trouble] | None]]
"""Checks something that the service needs, and returns what is wrong with it; it raises an exception if that is not
available. The exception goes to the log, never to the client."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
OTHER = ("none", "other")
DOORS = {
    "chat": ("/chat/widget.js",),
    "gateway": ("/c/{type}/{uuid}/{secret}", "/c/{type}/{uuid}/{secret}/", "/c/{type}/{uuid}/{secret}/{action}"),
}
"""Doors that no contract describes, by what stands for the generation."""

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


class Health:
    """ASGI layer for health and metrics; other requests go to the inner layer. Live says that the process responds.
    Ready says that every check passes in time; otherwise it is a 503 that names the failing checks. What is wrong and
    stops nothing is a warning. The checks are the database, in a place that `limiter` gives to requests, whether it can
    be written to, its schema, and any others that are given.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        database: Database,
        *,
        checks: Mapping[str, Check] | None = None,
        limiter: Lane | None = None,
    ) -> None:
        self.app = app
        self._secret_key = settings.secret_key
        own = {"database": _reachable(database, limiter or Lane(1)), "schema": _schema_fits(database)}
        own["writing"] = _can_write(database)
        self.checks: dict[str, Check] = {**own, **(checks or {})}
        self._pages: dict[str, Callable[[], Awaitable[PlainResponse]]] = {
            "/health/live": self._live,
            "/health/ready": self._ready,
        }
        if settings.metrics:
            self.backlog = BacklogCollector(database)
            self._pages["/metrics"] = self._metrics
            connections.follow("api", database.watch_connections)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        make = self._pages.get(scope["path"]) if scope["type"] == "http" else None
        if scope["type"] == "http" and scope["path"] == PROBE_PATH and self._is_probe(scope):
            make = partial(self._seen, scope)
        if make is None:
            await self.app(scope, receive, send)
            return
        page = wrong_method(scope) or await make()
        await page.send(send)

    async def _live(self) -> PlainResponse:
        return json_response({"status": "live"}, headers=NOT_STORED)

    def _is_probe(self, scope: Scope) -> bool:
        probe = header(scope, PROBE_HEADER.lower().encode())
        return probe is not None and is_probe(probe.decode("latin-1"), self._secret_key)

    async def _seen(self, scope: Scope) -> PlainResponse:
        """What a request of the doctor looks like from here."""
        host, port = scope.get("client") or ("", 0)
        seen = {
            "scheme": scope.get("scheme", "http"),
            "client": host,
            "is_forwarded": header(scope, b"x-forwarded-for") is not None,
            "is_trusted": port == 0,  # the address is from the header then
        }
        return json_response({"status": "live", "seen": seen}, headers=NOT_STORED)

    async def _ready(self) -> PlainResponse:
        found: list[Trouble] = []

        async def run(name: str, check: Check) -> None:
            found.extend(await run_check(name, check))

        async with anyio.create_task_group() as tasks:
            for name, check in self.checks.items():
                tasks.start_soon(run, name, check)
        failing = {each.check: each.sentence for each in found if each.stops}
        warnings = {each.check: each.sentence for each in found if not each.stops}
        told: dict[str, object] = {"warnings": warnings} if warnings else {}
        if not failing:
            return json_response({"status": "ready", **told}, headers=NOT_STORED)
        reasons = {name: reason for name, reason in failing.items() if reason}
        told |= {"reasons": reasons} if reasons else {}
        return json_response({"status": "not ready", "failing": sorted(failing), **told}, 503, NOT_STORED)

    async def _metrics(self) -> PlainResponse:
        page = await anyio.to_thread.run_sync(render_metrics, self.backlog)
        return PlainResponse(page, CONTENT_TYPE, headers=NOT_STORED)


async def run_check(name: str, check: Check) -> Sequence[Trouble]:
    """What clients may know of a check that fails, possibly only its name."""
    try:
        with anyio.fail_after(CHECK_TIMEOUT_SECONDS):
            found = await check() or ()
    except MigrationError as error:
        logger.warning("not ready: %s", error)
        return [Trouble(name, str(error), "")]
    except Exception as error:
        fault = fault_of(error)
        logger.warning("not ready: %s fails with %s", name, type(error).__name__ if fault is None else fault.sentence)
        return [Trouble(name, "" if fault is None else fault.sentence, "")]
    for each in found:
        logger.warning("%s: %s", "not ready" if each.stops else "ready, but", each.sentence)
    return found


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
    return routes | {path: (kind, path) for kind, paths in DOORS.items() for path in paths}


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


def _reachable(database: Database, limiter: Lane) -> Check:
    """A trivial read in a place and with a connection of requests."""

    async def check() -> None:
        await limiter.enter()
        try:
            await anyio.to_thread.run_sync(database.is_reachable, abandon_on_cancel=True)
        finally:
            limiter.leave()

    return check


def _schema_fits(database: Database) -> Check:
    def look() -> None:
        with contextlib.suppress(DatabaseError):  # another check reports that the database is not available
            check_schema(database.engine)

    async def check() -> None:
        await anyio.to_thread.run_sync(look, abandon_on_cancel=True)

    return check


def _can_write(database: Database) -> Check:
    def look() -> Sequence[Trouble]:
        with contextlib.suppress(DatabaseError):  # another check reports it
            return list(find_troubles(database))
        return ()

    async def check() -> Sequence[Trouble]:
        return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)

    return check


@cache
def _series(generation: str, route: str, method: str, status: str) -> tuple[Counter, Histogram]:
    """Cached, because looking up a series by its labels costs more than counting."""
    return requests.labels(generation, route, method, status), durations.labels(generation, route, method)
