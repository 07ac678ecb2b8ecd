"""Health of the process and its metrics: `/health/live`, `/health/ready`, `/metrics`."""

import time
from collections.abc import MutableMapping
from typing import Any

import anyio.to_thread
import orjson
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import Response

from handlers.contract import load_contract
from handlers.errors import matches
from openapi.bundle import GENERATIONS
from persistence.database import Database
from relayboard.settings import Settings

BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Health:
    """ASGI layer for health and metrics; counts every other request by its route and status.

    Metrics are those of the answering process: behind several processes each scrape shows one of them.
    """

    def __init__(self, app: Any, settings: Settings, database: Database) -> None:
        self.app = app
        self.database = database
        self.has_metrics = settings.metrics
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("relayboard_requests", "Requests answered.", labels, registry=self.registry)
        self.seconds = Histogram(
            "relayboard_request_seconds",
            "Seconds until an answer was complete.",
            ("method", "route"),
            registry=self.registry,
            buckets=BUCKETS_SECONDS,
        )
        self.routes: dict[tuple[str, str], str] = {}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        answer = await self._answer(scope) if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        if answer is not None:
            await answer(scope, receive, send)
        elif scope["type"] == "http" and self.has_metrics:
            await self._measured(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _answer(self, scope: MutableMapping[str, Any]) -> Response | None:
        path = scope["path"]
        if path == "/health/live":
            return _json(200, {"status": "live"})
        if path == "/health/ready":
            return await self._ready()
        if path == "/metrics" and self.has_metrics:
            return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)
        return None

    async def _ready(self) -> Response:
        try:
            await anyio.to_thread.run_sync(self.database.is_reachable)
        except SQLAlchemyError:
            return _json(503, {"status": "not ready", "failing": ["database"]})
        return _json(200, {"status": "ready"})

    async def _measured(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        began = time.perf_counter()
        status = 500

        async def note(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, note)
        finally:
            route = self._route(scope["method"], scope["path"])
            self.requests.labels(scope["method"], route, str(status)).inc()
            self.seconds.labels(scope["method"], route).observe(time.perf_counter() - began)

    def _route(self, method: str, path: str) -> str:
        """The path of the contract a request belongs to; `other` for everything else, so labels stay few."""
        if not self.routes:
            for generation in GENERATIONS:
                for rules in load_contract(generation).values():
                    self.routes[rules.method.upper(), rules.path] = rules.path
        method = "GET" if method == "HEAD" else method
        known = self.routes.get((method, path))
        if known is not None:
            return known
        templates = (route for verb, route in self.routes if verb == method and "{" in route)
        return next((route for route in templates if matches(route, path)), "other")


def _json(status: int, value: dict[str, Any]) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")
