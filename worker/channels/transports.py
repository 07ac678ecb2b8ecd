"""Transports that only some services need: what speaks one is loaded, and its threads begin, when there is a channel
for it.
"""

import time
from collections.abc import Callable, Collection
from socket import socket

from persistence.channels.connections import has_kept
from worker.http.connections import SendFailed, dial
from worker.http.safe_http import SafeHttp
from worker.runtime import Runtime

FIRST_LOOK_SECONDS = 5.0
"""How often it is looked whether there is such a channel, until there is."""


def begin_when_used(
    runtime: Runtime, types: Collection[str], begin: Callable[[Runtime], Callable[[], object]]
) -> Callable[[], bool]:
    """The step that looks for parts to send now. `begin` is called once there is a channel of these types, and returns
    what wakes that which sends."""
    wake: Callable[[], object] | None = None
    look_on = time.monotonic()

    def step() -> bool:
        nonlocal wake, look_on
        if wake is None and time.monotonic() >= look_on:
            look_on = time.monotonic() + FIRST_LOOK_SECONDS
            with runtime.database.reading() as tx:
                is_used = has_kept(tx, types)
            if is_used and not runtime.stopping.is_set():
                wake = begin(runtime)
        if wake is not None:
            wake()
        return False

    return step


def dial_allowed(http: SafeHttp, host: str, port: int, seconds: float) -> socket:
    """A connected socket, only to where this service may call by HTTP. Raises SendFailed."""
    if http.allowed_ports and port not in http.allowed_ports:
        raise SendFailed("address", f"Port {port} is not one that this service may call.")
    return dial(host, port, allowed_networks=http.allowed_networks, timeout_seconds=seconds)
