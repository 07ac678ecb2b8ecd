"""The server of an API process: uvicorn on a listening socket that the process inherits."""

import contextlib
import ipaddress
import logging
import resource
import signal
import socket
from dataclasses import replace
from typing import Any

import anyio.to_thread
import uvicorn

from handlers.app import Stopping, create_app
from handlers.asgi.health import Check
from persistence.database import open_serving_database
from persistence.errors import DatabaseError
from persistence.service.diagnosis import Trouble, list_heartbeats
from relayboard.base.collection import postpone_collection, settle_collection
from relayboard.base.logs import configure_logging
from relayboard.base.settings import PREFIX, Network, Settings, load_settings
from relayboard.base.tracing import tracing
from relayboard.http_protocol import Patience
from relayboard.processes import follow_lifeline, tell_ready, wait_for_begin
from relayboard.startup import check_database
from worker.app import OTHER_QUEUE, SAME_QUEUE, look_for_other_queues, make_wake
from worker.errors import QueueError

logger = logging.getLogger("relayboard.api")

GRACE_SECONDS = 20
SPARE_FILES = 256


class Server(uvicorn.Server):
    """A server that reports when it listens, and ends streams before it waits for open connections."""

    def __init__(self, config: uvicorn.Config, stopping: Stopping) -> None:
        super().__init__(config)
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        tell_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping.begin()
        await super().shutdown(sockets)


def serve(descriptor: int) -> int:
    """Serve requests until SIGINT or SIGTERM; running requests are finished first. Raises errors of
    `relayboard.failures.EXPECTED`.
    """
    postpone_collection()
    settings = load_settings()
    configure_logging(settings.log_format, level=settings.log_level)
    if not wait_for_begin():
        return 0
    follow_lifeline()
    most = allow_connections(settings.max_connections)
    with contextlib.suppress(
        DatabaseError
    ):  # a database that is not available now will return; until then this process is not ready
        check_database(settings)
    stopping = Stopping()
    checks = {"queue": watch_queue(settings)}
    app = create_app(settings, wake=make_wake(settings), stopping=stopping, checks=checks)
    config = make_config(app, replace(settings, max_connections=most))
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    server = Server(config, stopping)
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn takes signals only later, and raises them again once it has stopped: a requested stop is no failure.
        signal.signal(number, server.handle_exit)
    # uvicorn treats an inherited descriptor as a UNIX socket and then does not switch off Nagle's algorithm.
    with tracing(settings, "api"):
        settle_collection()
        server.run(sockets=[socket.socket(fileno=descriptor)])
    return 0


def watch_queue(settings: Settings) -> Check:
    """Whether the queue answers, and whether the workers take their work from it. Work is done without it too, but
    later, so that this is no reason to send requests elsewhere.
    """

    database = open_serving_database(settings, pool_size=1)

    def look() -> list[Trouble]:
        with contextlib.suppress(DatabaseError):  # another check reports it
            with database.reading() as tx:
                workers = list_heartbeats(tx)
            try:
                others = look_for_other_queues(settings.queue_url, workers)
            except QueueError:
                return [
                    Trouble(
                        "queue",
                        "it cannot be used: workers are not woken, and look for work themselves",
                        "",
                        stops=False,
                    )
                ]
            if others:
                return [Trouble("queue", OTHER_QUEUE.format(hosts=", ".join(others)), SAME_QUEUE, stops=False)]
        return []

    async def check() -> list[Trouble]:
        return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)

    return check


def make_config(app: Any, settings: Settings) -> uvicorn.Config:
    """uvicorn's settings: slow clients are disconnected, and only trusted proxies may tell the client's address."""
    patience = Patience(settings.head_timeout_seconds, settings.max_connections)
    return uvicorn.Config(
        app,
        http=patience.make_protocol(),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=True,
        forwarded_allow_ips=[str(each) for network in settings.trusted_proxies for each in both_forms(network)],
        timeout_keep_alive=settings.keep_alive_seconds,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="on",
    )


def both_forms(network: Network) -> list[Network]:
    """A network unchanged, and as a socket for both IP versions shows it (10.0.0.1 as ::ffff:10.0.0.1)."""
    if isinstance(network, ipaddress.IPv6Network):
        return [network]
    mapped = ipaddress.IPv6Network(f"::ffff:{network.network_address}/{96 + network.prefixlen}")
    return [network, mapped]


def allow_connections(connections: int) -> int:
    """Raise the limit of open files of this process as far as allowed, so that these connections fit; returns how many
    do. Beyond that the process could accept nobody, and would not even notice who could be sent away.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    fitting = max(1, soft - min(SPARE_FILES, soft // 2))
    logger.warning(
        "the limit of open files (%d) leaves room for %d connections, not for the %d of %sMAX_CONNECTIONS: raise it "
        "(ulimit -n, or LimitNOFILE of systemd)",
        soft,
        fitting,
        connections,
        PREFIX,
    )
    return fitting
