"""One bound connection to an SMS centre, or two where sending and receiving are apart. It writes requests with a number
each and waits for their responses, hands over what is delivered, and tries a silent connection now and then.

A response can be lost with its connection. Then nobody knows whether a message was sent; what we answered may be told
again, until something that the SMS centre answered later shows that it has read so far.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from socket import socket
from typing import Any

from channels.smpp import Deliver, Submit
from relayboard.base.certificates import explain_tls
from worker.channels.smpp.wire import (
    MOST_SEQUENCE,
    OK,
    QUEUE_FULL,
    NotSmpp,
    Pdu,
    read_deliver,
    read_length,
    read_pdu,
    read_text,
    write_pdu,
    write_submit,
)

logger = logging.getLogger("relayboard.smpp")

BIND_SECONDS = 10.0
UNBIND_SECONDS = 2.0


class Lost(Exception):
    """The connection has ended, or was not made; its text says why. `is_refused`: the SMS centre does not let us in."""

    def __init__(self, reason: str, *, is_refused: bool = False) -> None:
        super().__init__(reason)
        self.is_refused = is_refused


class Unwritten(Exception):
    """The connection ended before anything of this request was written."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where and as whom to bind; `seconds` is the time limit of a response, `idle_seconds` how long silence is fine."""

    host: str
    system_id: str
    password: str
    system_type: str
    commands: tuple[str, ...]
    context: ssl.SSLContext | None
    seconds: float
    idle_seconds: float


@dataclass(slots=True)
class Delivery:
    """What an SMS centre delivers, and how it is answered: with a status, once it is stored."""

    deliver: Deliver
    link: "Link"
    sequence: int
    number: int = 0

    def answer(self, status: int) -> None:
        """Nothing is written if the connection has ended; then the SMS centre delivers it again."""
        if self.link.answer("deliver_sm_resp", self.sequence, status):
            self.link.written += 1
            self.number = self.link.written

    @property
    def is_read(self) -> bool:
        """Whether the SMS centre has read our answer for sure."""
        return 0 < self.number <= self.link.proven


Hear = Callable[[Delivery], bool]
"""Takes a delivery, to answer it later; whether there is room."""


class Link:
    """One connection. `run` reads it until it ends."""

    def __init__(self, place: Place, hear: Hear, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        self._place, self._hear = place, hear
        self._reader, self._writer = streams
        self._sequence = 0
        self._waiting: dict[int, asyncio.Future[Pdu]] = {}
        self._end: Lost | None = None
        self._ended = asyncio.Event()
        self.written, self.proven = 0, 0
        """How many answers were written, and how many of them the SMS centre has read for sure."""

    @property
    def is_open(self) -> bool:
        return self._end is None

    async def request(self, name: str, content: Callable[[int], bytes], seconds: float | None = None) -> Pdu:
        """Writes a request and returns its response. Raises Lost, and Unwritten."""
        if self._end is not None:
            raise Unwritten
        self._sequence = self._sequence % MOST_SEQUENCE + 1
        sequence, answers = self._sequence, self.written
        future = self._waiting[sequence] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(content(sequence))
            async with asyncio.timeout(seconds or self._place.seconds):
                response = await future
        except TimeoutError:
            self.end(f"The SMS centre did not answer {name} in time.")
            raise self._end or Lost("") from None
        finally:
            self._waiting.pop(sequence, None)
        self.proven = max(self.proven, answers)
        return response

    def answer(self, name: str, sequence: int, status: int = OK) -> bool:
        if self._end is not None:
            return False
        values: dict[str, Any] = {"message_id": ""} if name == "deliver_sm_resp" else {}
        self._writer.write(write_pdu(name, sequence, status, **values))
        return True

    def end(self, reason: str, *, is_refused: bool = False) -> None:
        """Closes the connection; whoever waits for a response hears why."""
        if self._end is not None:
            return
        self._end = Lost(reason, is_refused=is_refused)
        self._ended.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._end)
        if self._writer.transport.get_write_buffer_size():
            self._writer.transport.abort()  # the other side does not read
        else:
            self._writer.close()

    @property
    def reason(self) -> str:
        """Why it has ended; empty as long as it stands."""
        return "" if self._end is None else str(self._end)

    async def bind(self, command: str) -> None:
        """Raises Lost."""
        place = self._place
        values: dict[str, Any] = {
            "system_id": place.system_id,
            "password": place.password,
            "system_type": place.system_type,
        }
        try:
            response = await self.request(command, lambda number: write_pdu(command, number, **values), BIND_SECONDS)
        except Unwritten:
            raise self._end or Lost("") from None
        if response.status != OK or response.command != f"{command}_resp":
            self.end(f"The SMS centre refused the bind with 0x{response.status:02X}.", is_refused=True)
            raise self._end or Lost("")

    async def read(self) -> None:
        """Reads until the connection ends."""
        try:
            while self._end is None:
                head = await self._reader.readexactly(4)
                self._take(head + await self._reader.readexactly(read_length(head) - len(head)))
                if self._writer.transport.get_write_buffer_size():
                    await self._writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.end("The SMS centre ended the connection.")
        except (NotSmpp, OSError) as error:
            self.end(f"The connection to the SMS centre failed: {error}.")

    async def try_now_and_then(self) -> None:
        """Asks the SMS centre whether it is there, as long as the connection stands."""
        while self._end is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._place.idle_seconds):
                    await self._ended.wait()
                    return
            with contextlib.suppress(Lost, Unwritten):
                await self.request("enquire_link", lambda number: write_pdu("enquire_link", number))

    async def unbind(self) -> None:
        """Ends the connection as the protocol wants it."""
        with contextlib.suppress(Lost, Unwritten):
            await self.request("unbind", lambda number: write_pdu("unbind", number), UNBIND_SECONDS)
        self.end("The connection was ended.")

    def _take(self, content: bytes) -> None:
        try:
            pdu = read_pdu(content)
        except NotSmpp as error:
            logger.warning("an SMS centre wrote something else: %s", error)
            self.answer("generic_nack", error.sequence, error.status)
            return
        if pdu.is_response():
            future = self._waiting.get(pdu.sequence)
            if future is not None and not future.done():
                future.set_result(pdu)
        elif pdu.command == "deliver_sm":
            if not self._hear(Delivery(read_deliver(pdu), self, pdu.sequence)):
                self.answer("deliver_sm_resp", pdu.sequence, QUEUE_FULL)
        elif pdu.command in ("enquire_link", "unbind"):
            self.answer(f"{pdu.command}_resp", pdu.sequence)
            if pdu.command == "unbind":
                self.end("The SMS centre ended the connection.")
        elif pdu.command != "alert_notification":
            self.answer("generic_nack", pdu.sequence, 0x03)


class Session:
    """What is bound: a link for both ways, or one for each."""

    def __init__(self) -> None:
        self._links: list[Link] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def add(self, link: Link, command: str) -> None:
        """Binds one more link. Raises Lost."""
        self._links.append(link)
        self._tasks.append(asyncio.create_task(link.read()))
        await link.bind(command)

    @property
    def is_open(self) -> bool:
        return all(link.is_open for link in self._links)

    async def submit(self, submit: Submit) -> tuple[int, str]:
        """The status and the message id that the SMS centre answers. Raises Lost if nobody knows what became of it, and
        Unwritten.
        """
        response = await self._links[0].request("submit_sm", lambda number: write_submit(submit, number))
        return int(response.status), read_text(getattr(response, "message_id", b""))

    async def run(self) -> str:
        """Works until a connection ends; returns why."""
        self._tasks += [asyncio.create_task(link.try_now_and_then()) for link in self._links]
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        reason = next((link.reason for link in self._links if link.reason), "")
        await self.close()
        return reason

    async def close(self) -> None:
        await asyncio.gather(*(link.unbind() for link in self._links if link.is_open))
        for link in self._links:
            link.end("The connection was ended.")
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def open_session(place: Place, dial: Callable[[], Awaitable[socket]], hear: Hear) -> Session:
    """Connects and binds. Raises Lost."""
    session = Session()
    try:
        for command in place.commands:
            streams = await _connect(place, await dial())
            await session.add(Link(place, hear, streams), command)
    except BaseException:
        await session.close()
        raise
    return session


async def _connect(place: Place, sock: socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    name = place.host if place.context is not None else None
    try:
        async with asyncio.timeout(BIND_SECONDS):
            return await asyncio.open_connection(sock=sock, ssl=place.context, server_hostname=name)
    except TimeoutError:
        raise Lost("The SMS centre did not answer in time.") from None
    except ssl.SSLError as error:
        raise Lost(f"The secure connection to the SMS centre failed: {explain_tls(error)}.") from error
    except OSError as error:
        raise Lost("The SMS centre ended the connection.") from error
