"""The server of an API process: uvicorn on a listening socket that the process inherits."""

import contextlib
import ipaddress
import logging
import resource
import signal
import socket
from typing import Any

import uvicorn

from handlers.app import create_app
from handlers.stopping import Stopping
from persistence.errors import DatabaseError
from relayboard.base.collection import postpone_collection, settle_collection
from relayboard.base.logs import configure_logging
from relayboard.base.settings import Network, Settings, load_settings
from relayboard.base.tracing import tracing
from relayboard.http_protocol import Patience
from relayboard.processes import follow_lifeline, tell_ready, wait_for_begin
from relayboard.startup import check_database
from worker.wake import make_wake

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
    allow_connections(settings.max_connections)
    with contextlib.suppress(
        DatabaseError
    ):  # a database that is not available now will return; until then this process is not ready
        check_database(settings)
    stopping = Stopping()
    app = create_app(settings, wake=make_wake(settings), stopping=stopping)
    config = make_config(app, settings)
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


def allow_connections(connections: int) -> None:
    """Raise the limit of open files of this process as far as allowed, so that these connections fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
