"""Opens a connection to a host name; the address that is checked is the one that is called."""

import queue
import socket
import threading
from collections.abc import Callable, Sequence

from relayboard.base.addresses import Network, is_permitted, spells_address_oddly
from worker.http.errors import SendFailed

Resolve = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host name, best first; raises OSError if there are none."""


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host name, from the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def dial(
    host: str, port: int, *, allowed_networks: Sequence[Network], timeout_seconds: float, resolve: Resolve = resolve
) -> socket.socket:
    """A connected socket; tries the permitted addresses in turn. Raises SendFailed."""
    failure: OSError | None = None
    for address in _permitted_addresses(host, port, allowed_networks, timeout_seconds, resolve):
        try:
            return _connect(address, port, timeout_seconds)
        except OSError as error:
            failure = error
    if isinstance(failure, TimeoutError):
        raise SendFailed("timeout", f"{host} did not accept a connection in time.") from failure
    if isinstance(failure, ConnectionRefusedError):
        raise SendFailed("connect", f"{host} refused the connection.") from failure
    raise SendFailed("connect", f"{host} could not be reached.") from failure


def _permitted_addresses(
    host: str, port: int, allowed_networks: Sequence[Network], timeout_seconds: float, resolve: Resolve
) -> list[str]:
    host = host.strip("[]")
    is_odd = spells_address_oddly(host)
    addresses = _resolve_in_time(host, port, timeout_seconds, resolve)
    permitted = [found for found in addresses if is_permitted(found, allowed_networks, is_spelled_oddly=is_odd)]
    if not permitted:
        raise SendFailed("address", f"{host} is in a network that this service may not call.")
    return permitted


def _resolve_in_time(host: str, port: int, timeout_seconds: float, resolve: Resolve) -> Sequence[str]:
    # The system's resolver has no time limit, so it runs in another thread, which is abandoned if it takes too long.
    answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(resolve(host, port))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=look_up, name="resolve", daemon=True).start()
    try:
        answer = answers.get(timeout=timeout_seconds)
    except queue.Empty:
        raise SendFailed("dns", f"The name {host} could not be resolved in time.") from None
    if isinstance(answer, Exception):
        raise SendFailed("dns", f"The name {host} could not be resolved.") from answer
    return answer


def _connect(address: str, port: int, timeout_seconds: float) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect((address, port))
    except BaseException:
        sock.close()
        raise
    return sock
