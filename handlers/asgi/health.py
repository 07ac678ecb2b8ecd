"""Health of the process and its metrics: `/health/live`, `/health/ready`, `/metrics`."""

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import anyio
import anyio.to_thread

from handlers.asgi.backlog_metrics import BacklogCollector
from handlers.asgi.metrics import connections, render_metrics
from handlers.asgi.plain_responses import PlainResponse, json_response, wrong_method
from persistence.database import Database
from relayboard.base.metrics import CONTENT_TYPE
from relayboard.base.settings import Settings

logger = logging.getLogger("relayboard.health")

CHECK_TIMEOUT_SECONDS = 3.0
NOT_STORED = {"Cache-Control": "no-store"}

Check = Callable[[], Awaitable[object]]
"""Something the service needs; it raises when that is away. What it raises goes to the log, never to the client."""


class Health:
    """ASGI layer for health and metrics; everything else goes inside.

    Live says that the process answers. Ready says that every check passes, in time; else it is a 503 that names those
    that fail. The checks are the database and whatever else is given.
    """

    def __init__(
        self, app: Any, settings: Settings, database: Database, *, checks: Mapping[str, Check] | None = None
    ) -> None:
        self.app = app
        self.checks: dict[str, Check] = {"database": _reachable(database), **(checks or {})}
        self._pages: dict[str, Callable[[], Awaitable[PlainResponse]]] = {
            "/health/live": _live,
            "/health/ready": self._ready,
        }
        if settings.metrics:
            self.backlog = BacklogCollector(database)
            self._pages["/metrics"] = self._metrics
            connections.follow("api", database.watch_connections)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        make = self._pages.get(scope["path"]) if scope["type"] == "http" else None
        if make is None:
            await self.app(scope, receive, send)
            return
        page = wrong_method(scope) or await make()
        await page.send(send)

    async def _ready(self) -> PlainResponse:
        failing: list[str] = []

        async def run(name: str, check: Check) -> None:
            if not await passes(name, check):
                failing.append(name)

        async with anyio.create_task_group() as tasks:
            for name, check in self.checks.items():
                tasks.start_soon(run, name, check)
        if failing:
            return json_response({"status": "not ready", "failing": sorted(failing)}, 503, NOT_STORED)
        return json_response({"status": "ready"}, headers=NOT_STORED)

    async def _metrics(self) -> PlainResponse:
        page = await anyio.to_thread.run_sync(render_metrics, self.backlog)
        return PlainResponse(page, CONTENT_TYPE, headers=NOT_STORED)


async def passes(name: str, check: Check) -> bool:
    """Whether a check ends in time without an exception; logs why not."""
    try:
        with anyio.fail_after(CHECK_TIMEOUT_SECONDS):
            await check()
    except Exception as error:
        logger.warning("not ready: %s fails with %s", name, type(error).__name__)
        return False
    return True


def _reachable(database: Database) -> Check:
    async def check() -> None:
        await anyio.to_thread.run_sync(database.is_reachable, abandon_on_cancel=True)

    return check


async def _live() -> PlainResponse:
    return json_response({"status": "live"}, headers=NOT_STORED)
