"""Connections that our own function opens, which checks the address, and that have a deadline."""

import socket
from collections.abc import Callable
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util import create_urllib3_context

from worker.http.deadlines import Deadline

Connect = Callable[[str, int], socket.socket]
CurrentDeadline = Callable[[], Deadline]


HOSTS_KEPT = 100
CONNECTIONS_OF_HOST = 256
"""As many as may be called at a time; those that are idle are used again, the last one first."""


def checked_pools(connect: Connect, deadline: CurrentDeadline, trusted: str) -> PoolManager:
    """Pools whose connections are opened by `connect`; `deadline` returns that of the calling thread's exchange.
    `trusted` is a file of authorities.
    """
    hooks = {"open_line": staticmethod(connect), "deadline": staticmethod(deadline)}
    plain = type("CheckedConnection", (_Watched, HTTPConnection), hooks)
    secure = type("CheckedSecureConnection", (_Watched, HTTPSConnection), hooks)
    context = create_urllib3_context()
    context.load_verify_locations(trusted)
    pools = PoolManager(HOSTS_KEPT, maxsize=CONNECTIONS_OF_HOST, retries=False, ssl_context=context)
    pools.pool_classes_by_scheme = {
        "http": type("CheckedPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
        "https": type("CheckedSecurePool", (HTTPSConnectionPool,), {"ConnectionCls": secure}),
    }
    return pools


class _Watched:
    """A mixin with what differs from the library's connections."""

    open_line: Connect
    deadline: CurrentDeadline
    _line: socket.socket | None = None

    def _new_conn(self) -> socket.socket:
        sock = self.open_line(self._dns_host, self.port)  # type: ignore[attr-defined]  # of the class mixed into
        # TLS takes over the socket; a duplicate still refers to the connection and can shut it down.
        self._line = sock.dup()
        self.deadline().watch(self._line)
        return sock

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self._line is not None:
            self.deadline().watch(self._line)
        super().request(*args, **kwargs)  # type: ignore[misc]  # of the class mixed into

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        super().close()  # type: ignore[misc]  # of the class mixed into
