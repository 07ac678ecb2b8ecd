"""Connections of an event loop in a thread of its own, which are kept for the next request, with time limits for whole
exchanges; the address that is checked is the one that is called. A response is read as its bytes come in.
"""

import asyncio
import contextlib
import heapq
import itertools
import queue
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, TypeVar, cast

import httptools
from urllib3 import HTTPHeaderDict
from urllib3.util import wait_for_read

from relayboard.base.addresses import Network, is_permitted, spells_address_oddly

HEAD_LIMIT_BYTES = 256 * 1024
FRAME_BYTES = 8
"""What may surround each byte of a body that comes in chunks."""
FRAMES = ("content-length", "transfer-encoding")
"""The headers that say where a body ends; without them it ends with the connection."""
INTERIM = (100, 102, 103)
"""After them the response itself comes."""
FIRST_OF_STATUSES, FIRST_OF_RESPONSES = 100, 200


class NotHttp(Exception):
    """What came is no response, or its head is too long."""


class Reading:
    """One response. Only the status says whether something was accepted: when it is known, whatever follows may be
    incomplete, too long or wrong.
    """

    def __init__(self, limit_bytes: int, *, has_body: bool = True) -> None:
        """`has_body` is false for the response to HEAD, whose headers speak of a body that does not come."""
        self.status: int | None = None
        self.headers = HTTPHeaderDict()
        self.has_head = False
        self.is_complete = False
        self.has_ended = False
        self.keeps_connection = False
        self._limit_bytes = limit_bytes
        self._has_body = has_body
        self._other_bytes = 0
        self._chunks: list[bytes] = []
        self._body_bytes = 0
        self._parser = httptools.HttpResponseParser(self)
        # What old servers write, and what the library of Python reads as well.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_data_after_close=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    @property
    def body(self) -> bytes:
        return b"".join(self._chunks)[: self._limit_bytes]

    def feed(self, data: bytes) -> None:
        """Raises NotHttp. Once it `has_ended` there is nothing more to feed."""
        self._other_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end(is_complete=True)
        except httptools.HttpParserError as error:
            self._break_off(error)
        if not self.has_ended and self._other_bytes > HEAD_LIMIT_BYTES + FRAME_BYTES * self._body_bytes:
            # The parser collects headers, also those behind a body, however long they become.
            if not self.has_head:
                raise NotHttp("the head is too long")
            self._end(is_complete=False)

    def end_with_connection(self, *, is_clean: bool) -> None:
        """There is nothing more to come. Raises NotHttp if nothing was said."""
        if self.status is None:
            raise NotHttp("the connection ended before the status")
        if not self.has_ended:
            self._end(is_complete=is_clean and not any(name in self.headers for name in FRAMES))

    def on_message_begin(self) -> None:
        if self.has_ended:
            # What nobody asked for would be taken for the response to the next request.
            self.keeps_connection = False

    def on_status(self, _reason: bytes) -> None:
        self._note_status()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.has_head:  # what comes behind a body is none of them
            self._note_status()
            self.headers.add(name.decode("latin-1"), value.strip().decode("latin-1"))

    def on_headers_complete(self) -> None:
        if self.has_ended:
            return
        self._note_status()
        self.has_head = not self._is_interim()
        if self.has_head and not self._has_body:
            self._end(is_complete=True)

    def on_body(self, data: bytes) -> None:
        if self.has_ended:
            return
        self._chunks.append(data)
        self._body_bytes += len(data)
        self._other_bytes -= len(data)
        if self._body_bytes > self._limit_bytes:
            self._end(is_complete=False)

    def on_message_complete(self) -> None:
        if self.has_ended:
            return
        if self._is_interim():
            self.status = None
            self.headers = HTTPHeaderDict()
        else:
            self._end(is_complete=True)
            is_usual = self._parser.get_status_code() >= FIRST_OF_RESPONSES
            self.keeps_connection = is_usual and self._parser.should_keep_alive()

    def _note_status(self) -> None:
        if self.status is None:
            status = self._parser.get_status_code()
            if status < FIRST_OF_STATUSES:
                raise NotHttp(f"{status} is no status")
            self.status = status

    def _is_interim(self) -> bool:
        return self.status in INTERIM

    def _break_off(self, error: httptools.HttpParserError) -> None:
        self.keeps_connection = False
        if self.status is None:
            raise NotHttp("not HTTP") from error
        if not self.has_ended:
            self._end(is_complete=False)

    def _end(self, *, is_complete: bool) -> None:
        self.has_ended = self.has_head = True
        self.is_complete = is_complete


class SendFailed(Exception):
    """There was no response. `kind` is one word for counters, the message a sentence for users. Kinds: `url`, `header`
    (cannot be sent), `address` (not allowed), `dns`, `connect`, `timeout`, `tls`, `broken` (closed or not HTTP).
    """

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


def read_retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that the header `Retry-After` asks for, as a number or a date; None if it asks for nothing."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()


Origin = tuple[bool, str, int]
"""Whether TLS is spoken, the host and the port."""

HOSTS_KEPT = 100

Resolve = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host name, best first; raises OSError if there are none."""

Result = TypeVar("Result")
Work = Coroutine[Any, Any, Result]


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


class Deadline:
    """Shuts down the watched socket when its time is over, which ends everything that waits for it; used as a context
    manager."""

    def __init__(self, watchdog: "Watchdog", seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds
        self.is_finished = False
        self.has_expired = False
        self._watchdog = watchdog
        self._lock = threading.Lock()
        self._watched: socket.socket | None = None

    def __enter__(self) -> "Deadline":
        self._watchdog.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            self.is_finished = True
            self._watched = None

    @property
    def seconds_left(self) -> float:
        return max(self.ends_at - time.monotonic(), 0.0)

    def watch(self, sock: socket.socket) -> None:
        """Sets the socket to shut down; shuts it down at once if the time is over already."""
        with self._lock:
            self._watched = sock
            if self.has_expired:
                _shut_down(sock)

    def expire(self) -> None:
        """Called when the time is over; does nothing if the exchange has ended."""
        with self._lock:
            if self.is_finished:
                return
            self.has_expired = True
            if self._watched is not None:
                _shut_down(self._watched)


class Watchdog:
    """One thread that expires all deadlines; a timer for each of them would cost more than the exchange."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Deadline]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def add(self, deadline: Deadline) -> None:
        with self._changed:
            heapq.heappush(self._waiting, (deadline.ends_at, next(self._numbers), deadline))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
            elif self._waiting[0][2] is deadline:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            self._wait_for_next().expire()

    def _wait_for_next(self) -> Deadline:
        with self._changed:
            while True:
                seconds = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if seconds is not None and seconds <= 0:
                    return heapq.heappop(self._waiting)[2]
                self._changed.wait(seconds)


class LoopThread:
    """Ends when it is told to and the work that was begun has ended."""

    def __init__(self, name: str, *, at_end: Callable[[], None]) -> None:
        """`at_end` is called in the thread when no further work comes."""
        self._loop = asyncio.new_event_loop()
        self._at_end = at_end
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Not in a process that was forked from the one that began it."""
        return self._thread.is_alive()

    def begin(self, works: Iterable[Work[None]]) -> None:
        """Has the thread do these, at a time; they handle their errors themselves."""
        self._loop.call_soon_threadsafe(self._begin, list(works))

    def ask(self, work: Work[Result]) -> Future[Result]:
        """Has the thread do this, and tell what became of it."""
        future: Future[Result] = Future()
        self.begin([_tell(work, future)])
        return future

    def end(self) -> None:
        """No further work comes."""
        self._loop.call_soon_threadsafe(self._end)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _begin(self, works: Iterable[Work[None]]) -> None:
        for work in works:
            task = self._loop.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._stop_if_idle()

    def _end(self) -> None:
        self._is_ending = True
        self._at_end()
        self._stop_if_idle()

    def _stop_if_idle(self) -> None:
        if self._is_ending and not self._tasks:
            # Connections that were just ended are closed in the next rounds of the loop.
            self._loop.call_soon(self._loop.call_soon, self._loop.stop)


def _end_future(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_exception(TimeoutError())


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


def _shut_down(sock: socket.socket) -> None:
    # The other side may have just closed it, which is fine.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


async def _tell(work: Work[Result], future: Future[Result]) -> None:
    try:
        future.set_result(await work)
    except BaseException as error:
        future.set_exception(error)
