"""Connections of an event loop, which are kept for the next request."""

import asyncio
import contextlib
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import cast

from urllib3.util import wait_for_read

from worker.http.responses import NotHttp, Reading

Origin = tuple[bool, str, int]
"""Whether TLS is spoken, the host and the port."""

HOSTS_KEPT = 100


class Connection(asyncio.Protocol):
    """One connection, which carries one request at a time."""

    def __init__(self, forget: Callable[["Connection"], None]) -> None:
        self.is_open = False
        self._forget = forget
        self._reading: Reading | None = None
        self._ended: asyncio.Future[None] | None = None

    async def exchange(self, request: bytes, reading: Reading, ends_at: float) -> bool:
        """Sends a request and reads its response until a time of the loop; whether the connection can carry another
        one. If it cannot, or if this is cancelled, it is closed. Raises NotHttp and TimeoutError.
        """
        loop = asyncio.get_running_loop()
        self._reading, self._ended = reading, loop.create_future()
        limit = loop.call_at(ends_at, self._end_late, loop)
        is_kept = False
        try:
            self._transport.write(request)
            await self._ended
            is_kept = reading.keeps_connection and self.is_open and not self._transport.get_write_buffer_size()
        finally:
            limit.cancel()
            self._reading = self._ended = None
            if not is_kept:
                self.close()
        return is_kept

    @property
    def can_be_used(self) -> bool:
        """Whether the other side has neither ended an idle connection nor said something that nobody asked for; also
        when the loop does not know it yet."""
        return self.is_open and not wait_for_read(self._socket, timeout=0.0)

    def close(self) -> None:
        """Ends the connection, of which the other side hears at once."""
        if self.is_open:
            self.is_open = False
            # The other side may have just closed it, which is fine.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._socket = transport.get_extra_info("socket")
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        if self._reading is None:
            self.close()  # nobody asked
            return
        try:
            self._reading.feed(data)
        except NotHttp as error:
            self._end(error)
        else:
            if self._reading.has_ended:
                self._end()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self._reading is None:
            self._forget(self)
        elif not self._reading.has_ended:
            try:
                self._reading.end_with_connection(is_clean=error is None)
            except NotHttp as nothing:
                self._end(error or nothing)
            else:
                self._end()

    def _end_late(self, loop: asyncio.AbstractEventLoop) -> None:
        """The time is over, but what has come counts: if this process was frozen, or had no processor, its loop has not
        looked yet, and does so before the second of its next rounds.
        """
        if self._ended is not None:
            loop.call_soon(loop.call_soon, _end_future, self._ended)

    def _end(self, error: Exception | None = None) -> None:
        if self._ended is None or self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)


def _end_future(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_exception(TimeoutError())


class KeptConnections:
    """The idle connections by origin; the last one that was used is used again first."""

    def __init__(self) -> None:
        self._idle: OrderedDict[Origin, list[Connection]] = OrderedDict()
        self._origins: dict[Connection, Origin] = {}
        self._is_closed = False

    def take(self, origin: Origin) -> Connection | None:
        """An idle connection, if there is one that can be used."""
        while idle := self._idle.get(origin):
            found = idle[-1]
            self.forget(found)
            if found.can_be_used:
                return found
            found.close()
        return None

    def keep(self, origin: Origin, connection: Connection) -> None:
        """Keeps a connection; it leaves by itself when the other side ends it."""
        if self._is_closed:
            connection.close()
            return
        self._idle.setdefault(origin, []).append(connection)
        self._idle.move_to_end(origin)
        self._origins[connection] = origin
        if len(self._idle) > HOSTS_KEPT:
            for each in list(self._idle[next(iter(self._idle))]):
                self.forget(each)
                each.close()

    def forget(self, connection: Connection) -> None:
        """This one has ended."""
        origin = self._origins.pop(connection, None)
        if origin is not None:
            idle = self._idle[origin]
            idle.remove(connection)
            if not idle:
                del self._idle[origin]

    def close(self) -> None:
        """Ends all of them, and keeps no further ones."""
        self._is_closed = True
        for each in list(self._origins):
            self.forget(each)
            each.close()
