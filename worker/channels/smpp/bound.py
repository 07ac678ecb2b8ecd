"""The connection of one channel to its SMS centre, as long as this process has the lease: it is made, and made again
with growing pauses, and what the SMS centre delivers is stored before it is answered.

An SMS centre repeats what has no answer. In one connection everything is answered, so two equal messages are two. Of
the connection before, those are remembered of which nobody knows whether the answer arrived; the same bytes are a
repeat of one of these. This is as far as the protocol goes: its messages have no ids.
"""

import asyncio
import hashlib
import logging
import ssl
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from socket import socket
from typing import Any, Protocol, TypeVar

from channels.calls import Event, Received
from channels.smpp import Deliver, read
from channels.sms import Piece
from persistence.channels.connections import (
    BOUND,
    CONNECTING,
    FAILED,
    Held,
    LeaseLost,
    finish_pieces,
    note_state,
    remember,
    remembered_of,
    store_piece,
)
from persistence.channels.gateway_reports import record_events
from persistence.database import Transaction
from persistence.errors import DatabaseError, Refused
from persistence.sql.columns import new_uuid
from worker.channels.smpp.session import Delivery, Lost, Place, Session, open_session
from worker.channels.smpp.wire import OK, TEMPORARY
from worker.http.connections import SendFailed

logger = logging.getLogger("relayboard.smpp")

Result = TypeVar("Result")

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
STORED_AT_ONCE = 100
MOST_WAITING = 500
"""Messages of an SMS centre that are not stored yet. It keeps what is more."""
PIECES_SECONDS = 60.0
TOLD_AGAIN_FOR = timedelta(minutes=10)
"""How long after their connection ended the same bytes are a repeat."""
REST_SECONDS = 0.1
DEFAULT_PORT, DEFAULT_WINDOW, DEFAULT_IDLE_SECONDS = 2775, 10, 30
COMMANDS = {"transceiver": ("bind_transceiver",), "transmitter+receiver": ("bind_transmitter", "bind_receiver")}


class Surroundings(Protocol):
    """What a connection needs of its process."""

    @property
    def seconds(self) -> float:
        """The time limit of a response."""

    def clock(self) -> datetime: ...

    def context(self) -> ssl.SSLContext: ...

    def wake(self) -> None:
        """Messages can be sent now."""

    async def dial(self, host: str, port: int) -> socket: ...

    async def write(self, work: Callable[[Transaction], Result]) -> Result: ...


@dataclass(frozen=True, slots=True)
class Told:
    """One delivery, as it was read, with what its bytes are known by."""

    delivery: Delivery
    event: Event | Piece | None
    digest: str


class Bound:
    """Only used in the thread of the loop, but for what others read of it."""

    def __init__(self, around: Surroundings, held: Held) -> None:
        self.held = held
        self.session: Session | None = None
        self._around = around
        self._name = new_uuid()
        self._inbox: list[Told] = []
        self._unproven: list[Told] = []
        self._changed = asyncio.Event()
        self._is_ending = False
        self._said: tuple[str, str | None] | None = None
        self._pieces_on = 0.0
        self._tasks = [asyncio.create_task(self._keep()), asyncio.create_task(self._store())]

    @property
    def is_ready(self) -> bool:
        """Whether messages may be sent now."""
        is_held = self._around.clock() < self.held.held_until
        return is_held and self.session is not None and self.session.is_open

    @property
    def config(self) -> Mapping[str, Any]:
        return {} if self.held.gateway is None else self.held.gateway.config

    @property
    def window(self) -> int:
        return int(self.config.get("window") or DEFAULT_WINDOW)

    async def follow(self, held: Held) -> None:
        """The lease goes on; with other settings the connection is made anew."""
        has_changed = self.held.gateway != held.gateway
        self.held = held
        if has_changed and self.session is not None:
            await self.session.close()

    async def end(self, *, is_lost: bool = False) -> None:
        """Answers what was delivered, and unbinds. If the lease is lost, another worker gets it again."""
        self._is_ending = True
        if is_lost:
            self._inbox.clear()
        self._changed.set()
        await self._tasks[1]
        if self.session is not None:
            await self.session.close()
        await self._tasks[0]

    def hear(self, delivery: Delivery) -> bool:
        if len(self._inbox) >= MOST_WAITING or self._is_ending:
            return False
        event = read(delivery.deliver, self.config)
        self._inbox.append(Told(delivery, event, digest_of(delivery.deliver)))
        self._changed.set()
        return True

    async def _keep(self) -> None:
        pause = FIRST_PAUSE
        while not self._is_ending:
            try:
                await self._say(CONNECTING)
                self._name = new_uuid()
                self.session = await open_session(self._place(), self._dial, self.hear)
                await self._say(BOUND)
                pause = FIRST_PAUSE
                self._around.wake()
                reason = await self.session.run()
            except (Lost, SendFailed) as error:
                reason = str(error)
            except Exception:
                logger.exception("the connection of channel %s met an error", self.held.channel_id)
                reason = "The service met an error of its own."
            self.session = None
            if not self._is_ending:
                await self._say(FAILED, reason)
                await self._rest(pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _rest(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while not self._is_ending and (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(min(left, REST_SECONDS))

    async def _say(self, state: str, reason: str | None = None) -> None:
        """Stores the state. Trying again after a failure is no news until it succeeds or fails for another reason."""
        was_failed = self._said is not None and self._said[0] == FAILED
        if self._said == (state, reason) or (was_failed and state == CONNECTING):
            return
        logger.info("channel %s is %s. %s", self.held.channel_id, state, reason or "")
        held = self.held
        try:
            await self._around.write(lambda tx: note_state(tx, held, state, reason))
            self._said = (state, reason)
        except DatabaseError as error:
            logger.warning("the state of channel %s was not stored: %s", held.channel_id, type(error).__name__)

    def _place(self) -> Place:
        """Raises Lost."""
        config = self.config
        if self.held.gateway is None:
            raise Lost("The settings of the channel cannot be read.")
        return Place(
            host=str(config["host"]),
            system_id=str(config["system_id"]),
            password=str(config.get("password") or ""),
            system_type=str(config.get("system_type") or ""),
            commands=COMMANDS.get(str(config.get("bind_mode")), COMMANDS["transceiver"]),
            context=self._around.context() if config.get("use_tls") else None,
            seconds=self._around.seconds,
            idle_seconds=float(config.get("enquire_link_seconds") or DEFAULT_IDLE_SECONDS),
        )

    async def _dial(self) -> socket:
        return await self._around.dial(str(self.config["host"]), int(self.config.get("port") or DEFAULT_PORT))

    async def _store(self) -> None:
        while not (self._is_ending and not self._inbox):
            await self._changed.wait()
            self._changed.clear()
            while self._inbox:
                batch, self._inbox = self._inbox[:STORED_AT_ONCE], self._inbox[STORED_AT_ONCE:]
                await self._store_batch(batch)

    async def _store_batch(self, batch: Sequence[Told]) -> None:
        held, name, now = self.held, self._name, self._around.clock()
        proven = {each.digest for each in self._unproven if each.delivery.is_read}
        try:
            await self._around.write(lambda tx: store_told(tx, held, batch, name, proven, now))
        except LeaseLost:
            if self.session is not None:  # unanswered: another worker gets it
                await self.session.close()
            return
        except Exception as error:
            self._name = new_uuid()  # if it was stored nevertheless, what is told again is a repeat
            if len(batch) > 1 and not isinstance(error, DatabaseError):
                for each in batch:
                    await self._store_batch([each])
                return
            logger.exception("what an SMS centre delivered to channel %s was not stored", held.channel_id)
            for each in batch:
                each.delivery.answer(TEMPORARY)
            return
        self._unproven = [each for each in self._unproven if not each.delivery.is_read]
        self._unproven += [each for each in batch if is_remembered(each.event)]
        for each in batch:
            each.delivery.answer(OK)

    async def finish_pieces(self) -> None:
        """Now and then: of messages whose other parts do not come, what is there is stored."""
        if time.monotonic() < self._pieces_on:
            return
        self._pieces_on = time.monotonic() + PIECES_SECONDS
        held = self.held
        try:
            await self._around.write(lambda tx: deliver_old_pieces(tx, held))
        except (DatabaseError, LeaseLost) as error:
            logger.warning("parts of messages of channel %s wait: %s", held.channel_id, type(error).__name__)


def is_remembered(event: Event | Piece | None) -> bool:
    """A receipt says the same each time; of a message it has to be known whether it was told before."""
    return isinstance(event, Received | Piece)


def digest_of(deliver: Deliver) -> str:
    """What equal messages have in common."""
    addresses = (deliver.source, deliver.destination)
    said = (addresses, deliver.esm_class, deliver.data_coding, deliver.content, sorted(deliver.options.items()))
    return hashlib.sha256(repr(said).encode()).hexdigest()[:32]


def store_told(
    tx: Transaction, held: Held, batch: Sequence[Told], name: str, proven: Collection[str], now: datetime
) -> None:
    """Stores what was delivered over the connection with this name. Of what was remembered, that goes whose answer has
    arrived, and what is too old. Raises LeaseLost.
    """
    remembered = remembered_of(tx, held)
    since = (now - TOLD_AGAIN_FOR).isoformat()
    heard = [
        (digest, connection, on)
        for digest, connection, on in remembered.get("heard", [])
        if (digest not in proven if connection == name else on > since)
    ]
    before = [digest for digest, connection, _ in heard if connection != name]
    events: list[Event] = []
    for each in batch:
        if is_remembered(each.event):
            if each.digest in before:
                before.remove(each.digest)
                place = next(at for at, entry in enumerate(heard) if entry[0] == each.digest and entry[1] != name)
                heard[place] = (each.digest, name, now.isoformat())
                continue
            heard.append((each.digest, name, now.isoformat()))
        event = store_piece(tx, held, each.event) if isinstance(each.event, Piece) else each.event
        if event is not None:
            events.append(event)
    _record(tx, held, events)
    remember(tx, held, remembered | {"heard": [list(each) for each in heard]})


def deliver_old_pieces(tx: Transaction, held: Held) -> None:
    """Raises LeaseLost."""
    remembered_of(tx, held)
    _record(tx, held, finish_pieces(tx, held))


def _record(tx: Transaction, held: Held, events: Sequence[Event]) -> None:
    if not events or held.gateway is None:
        return
    try:
        record_events(tx, held.gateway, events)
    except Refused as error:
        logger.info("channel %s: %s", held.channel_id, error)
