"""Channels that are bound to SMS centres. A channel is bound by one worker at a time, which has a lease on its
connection and unbinds when it stops; when it dies another one binds after the lease.

All connections of a process are in one thread with an event loop. Parts of messages come from the queue of gateways by
a dispatcher: those of a channel while it is bound, as many at a time as its window has. A part whose response got lost
with its connection is an error and sent again; if the worker died, too, nobody knows, and its message says so.
"""

import asyncio
import logging
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from socket import socket
from typing import TypeVar

from channels.calls import Later, Outcome, Refused, Sent
from channels.smpp import Submit, answered, submits
from persistence.channels.connections import Held, give_back, has_kept, take_connections
from persistence.channels.gateway_leases import (
    GatewaySend,
    SendOutcome,
    lease_sends,
    list_due_gateways,
)
from persistence.channels.health import GatewayCall
from persistence.channels.traces import CallSampler
from persistence.database import Transaction
from persistence.errors import DatabaseError
from persistence.sql.columns import new_uuid
from relayboard.base.tracing import Causes, caused_by
from worker.channels.sending import begin_parts, message_of, outcome_of, record_parts
from worker.channels.smpp import TYPES
from worker.channels.smpp.bound import DEFAULT_PORT, Bound
from worker.channels.smpp.session import Lost, Session, Unwritten
from worker.channels.transports import dial_allowed
from worker.dispatcher import (
    LEASE_FACTOR,
    AfterCommit,
    CalledQueue,
    Callers,
    Dispatcher,
    Finished,
    Leased,
    ReceiverSlots,
    do_nothing,
)
from worker.http.connections import LoopThread
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.smpp")

Result = TypeVar("Result")

LOOK_SECONDS = 5.0
"""How often leases are renewed, and channels looked for that nobody has bound."""
QUEUE_SECONDS = 1.0
"""How often the queue is looked at while a channel is bound: the wake-up of a message may reach another worker."""
STORERS, DIALERS = 2, 8
UNWRITTEN = Later("Nothing was written.")
SLOTS, MOST_WINDOW = 400, 100
CONNECT_SECONDS = 5.0
BODY_LENGTH = 2000
MARGIN = timedelta(seconds=5)
"""So long before the end of a lease that could not be renewed, the connection is ended."""


class Keeper:
    """The connections of this process."""

    def __init__(self, runtime: Runtime) -> None:
        self.bound: dict[int, Bound] = {}
        """By channel. Changed in the thread of the loop, read in that of the dispatcher."""
        self._runtime = runtime
        self._name = new_uuid()
        self._storers = ThreadPoolExecutor(STORERS, "smpp store")
        self._dialers = ThreadPoolExecutor(DIALERS, "smpp dial")
        self._queue = BoundQueue(self, timedelta(seconds=runtime.http.total_timeout_seconds * LEASE_FACTOR))
        self._dispatcher = Dispatcher(runtime, self._queue, ReceiverSlots(SLOTS, first=MOST_WINDOW))
        self._is_stopping = threading.Event()
        self._timing: Future[None] | None = None
        self.thread = LoopThread("smpp", at_end=do_nothing)

    def start(self) -> None:
        self._dispatcher.start()
        self._timing = self.thread.ask(self._keep_time())

    def stop(self) -> None:
        """Ends the calls that run, and unbinds."""
        self._dispatcher.stop()
        self._is_stopping.set()
        if self._timing is not None:
            self._timing.result()
        self.thread.end()
        self._storers.shutdown()
        self._dialers.shutdown()

    @property
    def seconds(self) -> float:
        return self._runtime.http.total_timeout_seconds

    def clock(self) -> datetime:
        return self._runtime.database.clock()

    def wake(self) -> None:
        self._dispatcher.wake()

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._runtime.http.certificates)

    async def dial(self, host: str, port: int) -> socket:
        """Raises SendFailed."""
        call = partial(dial_allowed, self._runtime.http, host, port, CONNECT_SECONDS)
        return await asyncio.get_running_loop().run_in_executor(self._dialers, call)

    async def write(self, work: Callable[[Transaction], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._storers, self._runtime.database.write, work)

    async def _keep_time(self) -> None:
        """Until this process stops; then no look is under way that would bind a channel again."""
        look_on = 0.0
        while not self._is_stopping.is_set():
            if time.monotonic() >= look_on:
                look_on = time.monotonic() + LOOK_SECONDS
                await self._look()
            if any(each.is_ready for each in self.bound.values()):
                self.wake()
            await asyncio.sleep(QUEUE_SECONDS)
        await self._end_all()

    async def _look(self) -> None:
        """Renews leases, takes those that nobody has, and ends what is not ours any more."""
        loop = asyncio.get_running_loop()
        try:
            held = await loop.run_in_executor(self._storers, self._take)
        except DatabaseError as error:
            logger.warning("the leases of connections were not renewed: %s", type(error).__name__)
            held = [each.held for each in self.bound.values() if self.clock() < each.held.held_until - MARGIN]
        except Exception:
            logger.exception("the leases of connections were not renewed")
            return
        now = {each.channel_id: each for each in held}
        gone = [self.bound.pop(each) for each in list(self.bound) if each not in now]
        for channel_id, each in now.items():
            if channel_id not in self.bound:
                self.bound[channel_id] = Bound(self, each)
        await asyncio.gather(
            *(each.end(is_lost=True) for each in gone),
            *(self.bound[each.channel_id].follow(each) for each in held),
            *(self.bound[each.channel_id].finish_pieces() for each in held),
        )

    def _take(self) -> list[Held]:
        database, mine = self._runtime.database, {each.held.id: each.held.held_until for each in self.bound.values()}
        if not mine:
            with database.reading() as tx:
                if not has_kept(tx, TYPES):
                    return []
        return database.write(lambda tx: take_connections(tx, TYPES, self._name, mine))

    async def _end_all(self) -> None:
        bound, held = list(self.bound.values()), [each.held for each in self.bound.values()]
        self.bound.clear()
        await asyncio.gather(*(each.end() for each in bound))
        if not held:
            return
        try:
            await self.write(lambda tx: give_back(tx, held))
        except DatabaseError as error:
            logger.warning("leases of connections were not given back: %s", type(error).__name__)


class BoundQueue(CalledQueue[GatewaySend, SendOutcome]):
    """The parts of messages for the channels that are bound here."""

    name = "smpp"

    def __init__(self, keeper: Keeper, lease: timedelta) -> None:
        self._keeper = keeper
        self._lease = lease
        self._sampler = CallSampler()
        self._lock = threading.Lock()
        self.under_way = Counter[int]()
        """By channel: parts that are not recorded yet."""

    def list_due(self, tx: Transaction) -> list[str]:
        ready = {number for number, each in list(self._keeper.bound.items()) if each.is_ready}
        due = list_due_gateways(tx, types=TYPES) if ready else []
        return [f"{workspace_id} {channel_id}" for workspace_id, channel_id in due if channel_id in ready]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[GatewaySend]:
        allowed: dict[int, int] = {}
        for receiver, room in rooms.items():
            channel_id = int(receiver.split()[1])
            bound = self._keeper.bound.get(channel_id)
            free = 0 if bound is None else min(room, bound.window - self.under_way[channel_id])
            if free > 0:
                allowed[channel_id] = free
        leased = lease_sends(tx, allowed, self._lease)
        return Leased([(f"{send.workspace_id} {send.channel_id}", send) for send in leased.sends], leased.look_again_on)

    def callers(self, total: int) -> Callers[GatewaySend, SendOutcome]:
        return BoundCallers(self, lambda: self._keeper.thread)

    def take_down(self, tx: Transaction, items: Sequence[GatewaySend]) -> dict[int, GatewaySend]:
        return begin_parts(tx, items, self._lease)

    def record(self, tx: Transaction, finished: Sequence[Finished[GatewaySend, SendOutcome]]) -> AfterCommit:
        return record_parts(tx, finished)

    def count(self, channel_id: int, change: int) -> None:
        """Counts parts as under way, or not any more."""
        with self._lock:
            self.under_way[channel_id] += change

    async def call(self, leased: GatewaySend) -> tuple[SendOutcome, bool]:
        """Sends one part, in the thread of the loop; returns the outcome, and whether there was a response."""
        if leased.config is None:
            logger.warning("message %s cannot be sent: the settings of its channel cannot be read", leased.message_id)
            return SendOutcome(leased, Later("The settings of the channel cannot be read.")), False
        if leased.is_uncertain:
            number = max(leased.part - 1, 1)
            logger.warning("the worker that sent part %s of message %s died", number, leased.message_id)
        parts = submits(message_of(leased), leased.config)
        if leased.part > len(parts):  # the lease of the last part belonged to a worker that died
            return SendOutcome(leased, Sent()), True
        bound = self._keeper.bound.get(leased.channel_id)
        send = None if bound is None or not bound.is_ready else await self.ask(leased)
        if bound is None or send is None:
            return SendOutcome(leased, UNWRITTEN, is_begun=False), True
        session = bound.session
        if session is None or not bound.is_ready or self._keeper.clock() >= send.due_on:
            return SendOutcome(send, UNWRITTEN, is_begun=False), True
        return await self._submit(bound, session, send, parts)

    async def _submit(
        self, bound: Bound, session: Session, send: GatewaySend, parts: Sequence[Submit]
    ) -> tuple[SendOutcome, bool]:
        part, started = parts[send.part - 1], time.monotonic()
        result: Outcome
        status, message_id = None, ""
        try:
            status, message_id = await session.submit(part)
            result = answered(status, message_id, send.config or {})
        except Unwritten:
            return SendOutcome(send, UNWRITTEN, is_begun=False), True
        except Lost as lost:
            result = Later(f"{lost} Nobody knows whether the SMS centre has the part.")
            logger.warning("part %s of message %s got no response: %s", send.part, send.message_id, lost)
        except UnicodeError:
            result = Refused("An address has a character that SMPP cannot carry.")
        is_accepted = isinstance(result, Sent)
        word = outcome_of(is_accepted=is_accepted, is_answered=status is not None)
        error = None if isinstance(result, Sent) else result.reason
        call = None
        if self._sampler.takes(send.channel_id, word):
            call = describe(send, part, word, status, message_id, error, time.monotonic() - started)
        has_more = is_accepted and send.part < len(parts)
        return SendOutcome(send, result, has_more=has_more, call=call), status is not None


class BoundCallers(Callers[GatewaySend, SendOutcome]):
    """All calls in the thread of the connections."""

    def __init__(self, queue: BoundQueue, thread: Callable[[], LoopThread]) -> None:
        super().__init__(queue.name)
        self._queue = queue
        self._thread = thread

    def begin(
        self,
        calls: Sequence[tuple[str, GatewaySend]],
        asked_by: Causes,
        report: Callable[[Finished[GatewaySend, SendOutcome]], None],
    ) -> None:
        for _, item in calls:
            self._queue.count(item.channel_id, 1)
        self._thread().begin([self._call(receiver, item, asked_by, report) for receiver, item in calls])

    async def _call(
        self,
        receiver: str,
        item: GatewaySend,
        asked_by: Causes,
        report: Callable[[Finished[GatewaySend, SendOutcome]], None],
    ) -> None:
        finished: Finished[GatewaySend, SendOutcome] = Finished(item, receiver, None, has_answered=False)
        try:
            with caused_by(asked_by):
                result, has_answered = await self._queue.call(item)
            finished = Finished(item, receiver, result, has_answered)
        except Exception:
            logger.exception("a part of message %s could not be sent", item.message_id)
        finally:
            self._queue.count(item.channel_id, -1)
            report(finished)


def describe(
    send: GatewaySend, part: Submit, word: str, status: int | None, message_id: str, error: str | None, seconds: float
) -> GatewayCall:
    """The request and response as they are kept."""
    config = send.config or {}
    return GatewayCall(
        workspace_id=send.workspace_id,
        channel_id=send.channel_id,
        contact_id=send.contact_id,
        message_id=send.message_id,
        part=send.part,
        outcome=word,
        method="SUBMIT",
        url=f"smpp://{config.get('host')}:{config.get('port') or DEFAULT_PORT}",
        headers={
            "from": part.source.text,
            "to": part.destination.text,
            "data_coding": str(part.data_coding),
            "esm_class": str(part.esm_class),
        },
        body=(part.content or next(iter(part.options.values()), b"")).hex()[:BODY_LENGTH],
        status=status,
        answer=message_id[:BODY_LENGTH] if status is not None else None,
        error=error,
        duration_ms=round(seconds * 1000),
    )
