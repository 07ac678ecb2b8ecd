"""An SMS centre that speaks SMPP 3.4 by the codec that the service uses: it answers as told, late or never, delivers
messages and receipts, and repeats what has no answer.
"""

import asyncio
import ssl
import threading
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from channels.smpp import Address, Deliver, Submit
from worker.channels.smpp.wire import (
    OK,
    Pdu,
    read_length,
    read_pdu,
    read_submit,
    read_text,
    write_deliver,
    write_pdu,
)

SYSTEM_ID, PASSWORD = "clinic", "secret"
WRONG_PASSWORD = 0x0E
UNDER_WAY = 20
AGAIN_SECONDS = 0.2
RECEIPT = "id:{} sub:001 dlvrd:001 submit date:2603011200 done date:2603011201 stat:{} err:000 text:"


@dataclass(frozen=True, slots=True)
class Reply:
    """How a submit_sm is answered: with a status after some seconds; or its connection is ended instead."""

    status: int = OK
    seconds: float = 0.0
    drops: bool = False


def accept(_submit: Submit) -> Reply:
    return Reply()


@dataclass(slots=True, eq=False)
class _Client:
    writer: asyncio.StreamWriter
    is_bound: bool = False
    sequence: int = 0
    waiting: dict[int, asyncio.Future[int]] = field(default_factory=dict)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


class Smsc:
    """`submitted` has each submit_sm that was read. `respond` says how one is answered. `receipts` are delivered before
    or after the response, or only when told. `loses_answers`: how many answers to what is delivered get lost, each with
    its connection."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.respond: Callable[[Submit], Reply] = accept
        self.receipts: Literal["none", "before", "after"] = "none"
        self.password = PASSWORD
        self.loses_answers = 0
        self.submitted: list[Submit] = []
        self.accepted: dict[str, Submit] = {}
        self.binds: Counter[str] = Counter()
        self.unbinds, self.tries = 0, 0
        self.bound, self.most_bound = 0, 0
        self.waiting: deque[Deliver] = deque()
        self.port = 0
        self._context = context
        self._clients: set[_Client] = set()
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name="smsc", daemon=True)
        self._server: asyncio.Server | None = None

    def __enter__(self) -> "Smsc":
        self._thread.start()
        self._listening.wait()
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def settings(self) -> dict[str, Any]:
        """Of a channel that is bound here."""
        return {"host": "127.0.0.1", "port": self.port, "system_id": SYSTEM_ID, "password": PASSWORD}

    def deliver(self, *messages: Deliver) -> None:
        """Puts these behind what waits for a receiver."""
        self._loop.call_soon_threadsafe(self.waiting.extend, messages)

    def write_text(self, content: bytes, sender: str = "250788123456", **values: Any) -> None:
        """A person writes to us."""
        self.deliver(
            Deliver(source=Address(sender, 1, 1), destination=Address("8080", 3, 0), content=content, **values)
        )

    def tell(self, message_id: str, word: str = "DELIVRD") -> None:
        """Delivers a receipt."""
        self.deliver(self._receipt(message_id, self.accepted[message_id], word))

    def drop_all(self) -> None:
        """Ends all connections."""
        self._loop.call_soon_threadsafe(self._drop)

    def _drop(self) -> None:
        for client in self._clients:
            client.writer.transport.abort()

    def stop_listening(self) -> None:
        def stop() -> None:
            assert self._server is not None
            self._server.close()

        self._loop.call_soon_threadsafe(stop)
        self.drop_all()

    def listen_again(self) -> None:
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())
        self._listening.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(writer)
        try:
            while True:
                head = await reader.readexactly(4)
                pdu = read_pdu(head + await reader.readexactly(read_length(head) - 4))
                if pdu.command.startswith("bind_") and not pdu.is_response():
                    self._bind(client, pdu)
                elif not client.is_bound:
                    writer.write(write_pdu("generic_nack", pdu.sequence, 0x04))
                elif not self._take(client, pdu):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            self.bound -= client.is_bound
            self._clients.discard(client)
            for task in list(client.tasks):
                task.cancel()
            writer.transport.abort()

    def _bind(self, client: _Client, pdu: Pdu) -> None:
        is_right = (read_text(pdu.system_id), read_text(pdu.password)) == (SYSTEM_ID, self.password)
        status = OK if is_right else WRONG_PASSWORD
        client.writer.write(write_pdu(f"{pdu.command}_resp", pdu.sequence, status, system_id="smsc"))
        if not is_right:
            return
        self.binds[pdu.command] += 1
        self._clients.add(client)
        client.is_bound = True
        self.bound += 1
        self.most_bound = max(self.most_bound, self.bound)
        if pdu.command != "bind_transmitter":
            client.begin(self._deliver_all(client))

    def _take(self, client: _Client, pdu: Pdu) -> bool:
        """Whether the connection goes on."""
        if pdu.command == "submit_sm":
            client.begin(self._answer(client, pdu.sequence, read_submit(pdu)))
        elif pdu.command == "deliver_sm_resp":
            if self.loses_answers > 0:
                self.loses_answers -= 1
                return False
            future = client.waiting.pop(pdu.sequence, None)
            if future is not None and not future.done():
                future.set_result(pdu.status)
        elif pdu.command in ("enquire_link", "unbind"):
            client.writer.write(write_pdu(f"{pdu.command}_resp", pdu.sequence))
            if pdu.command == "unbind":
                self.unbinds += 1
                self.bound -= client.is_bound
                client.is_bound = False
            self.tries += pdu.command == "enquire_link"
        return True

    async def _answer(self, client: _Client, sequence: int, submit: Submit) -> None:
        self.submitted.append(submit)
        reply = self.respond(submit)
        if reply.seconds:
            await asyncio.sleep(reply.seconds)
        message_id = f"{len(self.submitted):x}-{len(self.accepted):x}"
        if reply.status == OK:
            self.accepted[message_id] = submit
            if self.receipts == "before":
                self.waiting.append(self._receipt(message_id, submit, "DELIVRD"))
                await asyncio.sleep(0.05)
        if reply.drops:
            client.writer.transport.abort()
            return
        told = {"message_id": message_id} if reply.status == OK else {}
        client.writer.write(write_pdu("submit_sm_resp", sequence, reply.status, **told))
        if reply.status == OK and self.receipts == "after":
            self.waiting.append(self._receipt(message_id, submit, "DELIVRD"))

    def _receipt(self, message_id: str, submit: Submit, word: str) -> Deliver:
        content = RECEIPT.format(message_id, word).encode()
        return Deliver(source=submit.destination, destination=submit.source, content=content, esm_class=0x04)

    async def _deliver_all(self, client: _Client) -> None:
        while True:
            while self.waiting and len(client.waiting) < UNDER_WAY:
                client.begin(self._deliver_next(client))
                await asyncio.sleep(0)
            await asyncio.sleep(0.005)

    async def _deliver_next(self, client: _Client) -> None:
        """It waits again unless it is answered with success. A task that is cancelled before it begins takes none."""
        deliver = self.waiting.popleft()
        client.sequence += 1
        future = client.waiting[client.sequence] = asyncio.get_running_loop().create_future()
        is_taken = False
        try:
            client.writer.write(write_deliver(deliver, client.sequence))
            is_taken = await future == OK
            if not is_taken:
                await asyncio.sleep(AGAIN_SECONDS)
        finally:
            if not is_taken:
                self.waiting.append(deliver)


@contextmanager
def running_smsc(context: ssl.SSLContext | None = None) -> Iterator[Smsc]:
    with Smsc(context) as smsc:
        yield smsc
