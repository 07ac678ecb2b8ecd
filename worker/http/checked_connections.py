"""Connections that our own function opens, which checks the address, and that have a deadline."""

import socket
from collections.abc import Callable
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from worker.http.deadlines import Deadline

Connect = Callable[[str, int], socket.socket]
CurrentDeadline = Callable[[], Deadline]


class CheckedAdapter(HTTPAdapter):
    """Makes a session open connections with `connect`; `deadline` returns the deadline of each request."""

    def __init__(self, connect: Connect, deadline: CurrentDeadline) -> None:
        self._connect = connect
        self._deadline = deadline
        super().__init__(pool_connections=20, pool_maxsize=1, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        hooks = {"open_line": staticmethod(self._connect), "deadline": staticmethod(self._deadline)}
        plain = type("CheckedConnection", (_Watched, HTTPConnection), hooks)
        secure = type("CheckedSecureConnection", (_Watched, HTTPSConnection), hooks)
        self.poolmanager.pool_classes_by_scheme = {
            "http": type("CheckedPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
            "https": type("CheckedSecurePool", (HTTPSConnectionPool,), {"ConnectionCls": secure}),
        }


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
