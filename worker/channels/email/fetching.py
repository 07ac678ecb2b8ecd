"""Fetches mails from the mailboxes of channels, by a dispatcher of those that have rested. One worker reads a mailbox
at a time, by the lease on the connection of its channel, and changes nothing in it: what was read is known by its
number, which is stored in one transaction with the message. So a worker that dies loses and doubles none.

A mailbox that numbers its mails anew is read again from a week ago; mails are known by their `Message-ID` then, as
messages of all gateways are by the ids of their providers.
"""

import logging
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from socket import socket
from typing import Any

from channels.calls import Event, Received, Request, Unread
from channels.email.reading import read_mail
from persistence.channels.connections import (
    BOUND,
    FAILED,
    UNUSED,
    Held,
    LeaseLost,
    list_resting,
    remember,
    remembered_of,
    rest,
    take_rested,
)
from persistence.channels.gateway_parts import Told
from persistence.channels.gateway_reports import Gateway, find_contact, record_events
from persistence.channels.health import ACCEPTED, INWARD, REFUSED_CALL, GatewayCall, record_calls
from persistence.channels.traces import READ_BYTES, CallSampler, describe_request
from persistence.database import Transaction
from persistence.errors import DatabaseError, Refused, is_temporary
from persistence.leases import MOST_ATTEMPTS
from persistence.media.incoming import receive_contents
from persistence.media.store import MediaStore, StoreUnavailable, open_store, settle_received
from relayboard.base.mail_server import TLS
from worker.channels.email import TYPES
from worker.channels.email.imap import MONTHS, Letter, Mailbox, Place, Unreadable
from worker.channels.transports import dial_allowed
from worker.dispatcher import AfterCommit, Finished, Leased, LeasedQueue, ReceiverSlots, begin_dispatching, do_nothing
from worker.http.connections import SendFailed
from worker.runtime import Runtime
from worker.smtp import time_limit

logger = logging.getLogger("relayboard.email")

SLOTS = 8
"""Mailboxes that are read at a time: each may have a whole mail in memory."""
MAILS_AT_ONCE = 20
MOST_BYTES = 10 * 1024 * 1024
TURN_SECONDS, CONNECT_SECONDS = 30.0, 10.0
LAST_SECONDS = 15.0
"""No mail is begun that has less time than this."""
LEASE = timedelta(seconds=2 * TURN_SECONDS)
DEFAULT_PORT, DEFAULT_FOLDER, DEFAULT_SECONDS = 993, "INBOX", 60
LONGEST_PAUSE = timedelta(minutes=15)
"""After failures in a row: a provider locks accounts whose login is refused too often."""
LOOKED_BACK = timedelta(days=7)
CLOCKS_DIFFER = timedelta(minutes=10)
"""Mails that came so long before their channel was made are read, too: clocks differ."""
OWN_ERROR = "The service itself met an error."
TOO_OFTEN = f"Passed over after {MOST_ATTEMPTS} attempts, each of which ended with its connection or its worker."


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of reading a mailbox: the state of its connection, how long it rests, and what is remembered of it.
    `is_answered` says whether there was a mailbox that answered."""

    held: Held
    state: str = BOUND
    reason: str | None = None
    pause: timedelta = timedelta()
    news: Mapping[str, Any] = field(default_factory=lambda: {"failures": 0})
    is_answered: bool = True


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a mailbox was read: up to a number, as long as its numbers are valid, of mails that arrived `since`; and
    how often it was begun to read a mail (`attempts`)."""

    validity: int = 0
    number: int = 0
    since: str = ""
    trying: int = 0
    attempts: int = 0

    @classmethod
    def of(cls, remembered: Mapping[str, Any]) -> "Mark":
        return cls(*(remembered.get(name, default) for name, default in cls().stored().items()))

    def stored(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def begin_fetching(runtime: Runtime) -> Callable[[], bool]:
    """The step that wakes the dispatcher."""
    return begin_dispatching(runtime, MailboxQueue(runtime), ReceiverSlots(SLOTS, first=1))


def place_of(config: Mapping[str, Any]) -> Place | None:
    """Where mails of a channel are fetched; None if they are not."""
    if not config.get("imap_host"):
        return None
    return Place(
        host=str(config["imap_host"]),
        port=int(config.get("imap_port") or DEFAULT_PORT),
        security=str(config.get("imap_security") or TLS),
        user=str(config.get("imap_user") or config.get("user") or ""),
        password=str(config.get("imap_password") or config.get("password") or ""),
        folder=str(config.get("imap_folder") or DEFAULT_FOLDER),
    )


class MailboxQueue(LeasedQueue[Held, Turn]):
    """The mailboxes that are to be read now."""

    name = "mailboxes"

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._store = open_store(runtime.settings)
        self._sampler = CallSampler()

    def list_due(self, tx: Transaction) -> list[str]:
        return [f"{workspace_id} {channel_id}" for workspace_id, channel_id in list_resting(tx, TYPES)]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[Held]:
        taken = take_rested(tx, [int(receiver.split()[1]) for receiver in rooms], LEASE)
        return Leased([(f"{held.workspace_id} {held.channel_id}", held) for held in taken])

    def record(self, tx: Transaction, finished: Sequence[Finished[Held, Turn]]) -> AfterCommit:
        for each in finished:
            turn = each.result or _failed(each.item, OWN_ERROR)
            with suppress(LeaseLost):
                rest(tx, turn.held, turn.pause, turn.state, turn.reason, **turn.news)
        return do_nothing

    def call(self, item: Held) -> tuple[Turn, bool]:
        """Reads what is new in one mailbox, at most so many mails."""
        turn = self._read(item)
        if turn.reason is not None:
            logger.warning("the mailbox of channel %s was not read: %s", item.channel_id, turn.reason)
        return turn, turn.is_answered

    def _read(self, held: Held) -> Turn:
        if held.gateway is None:
            return _failed(held, "The settings of the channel cannot be read.")
        place = place_of(held.gateway.config)
        if place is None:
            return Turn(held, UNUSED, pause=_pause_of(held))
        context = ssl.create_default_context(cafile=self._runtime.http.certificates)
        try:
            with time_limit(TURN_SECONDS) as deadline, Mailbox(place, deadline, self._dial, context) as mailbox:
                is_more = Reader(self._runtime, self._store, self._sampler, held, held.gateway, mailbox).read_on()
        except SendFailed as error:
            return _failed(held, error.sentence, is_answered=False)
        except Unreadable as error:
            return _failed(held, str(error), is_answered=not error.is_silent)
        except LeaseLost:
            return Turn(held)
        except (DatabaseError, StoreUnavailable) as error:
            if isinstance(error, DatabaseError) and not is_temporary(error):
                raise
            logger.warning("mails of channel %s were not stored: %s", held.channel_id, type(error).__name__)
            return _failed(held, OWN_ERROR, attempts=0)  # it was not the doing of the mail
        return Turn(held, pause=timedelta() if is_more else _pause_of(held))

    def _dial(self, host: str, port: int, seconds: float) -> socket:
        sock = dial_allowed(self._runtime.http, host, port, min(seconds, CONNECT_SECONDS))
        sock.settimeout(seconds)
        return sock


@dataclass(frozen=True, slots=True)
class Reader:
    """One mailbox that is open, and what has its mails."""

    runtime: Runtime
    store: MediaStore
    sampler: CallSampler
    held: Held
    gateway: Gateway
    mailbox: Mailbox

    def read_on(self) -> bool:
        """Stores what is new; whether there is more. Raises Unreadable, LeaseLost, StoreUnavailable, DatabaseError."""
        mark = Mark.of(self.held.remembered)
        if mark.validity != self.mailbox.validity:
            mark = self._begin()
        numbers = [each for each in self.mailbox.list_numbers("UID", f"{mark.number + 1}:*") if each > mark.number]
        chosen = numbers[:MAILS_AT_ONCE]
        letters = {each.number: each for each in self.mailbox.describe(chosen)} if chosen else {}
        since = datetime.fromisoformat(mark.since)
        for number in chosen:
            if self.runtime.stopping.is_set() or self.mailbox.seconds_left < LAST_SECONDS:
                return True
            letter = letters.get(number)
            if letter is not None and (letter.arrived_on is None or letter.arrived_on >= since):
                self._take(letter)
        self._move_on(chosen)
        return len(numbers) > len(chosen)

    def _begin(self) -> Mark:
        """The mark before the first mail of the last days; of older ones nobody wants an answer any more."""
        since = max(self.held.made_on - CLOCKS_DIFFER, self.runtime.database.clock() - LOOKED_BACK)
        day = since - timedelta(days=1)  # servers compare days, in zones of their own
        found = self.mailbox.list_numbers("SINCE", f"{day.day}-{MONTHS[day.month - 1]}-{day.year}")
        mark = Mark(self.mailbox.validity, (found[0] if found else self.mailbox.following) - 1, since.isoformat())
        self.runtime.database.write(lambda tx: self._remember(tx, mark))
        return mark

    def _move_on(self, chosen: Sequence[int]) -> None:
        """Also past those that are gone or too old."""
        if chosen:
            self.runtime.database.write(lambda tx: self._remember(tx, replace(self._mark(tx), number=chosen[-1])))

    def _take(self, letter: Letter) -> None:
        """Fetches and stores one mail; one that cannot be read is passed over, and the owner of the channel is told."""
        if letter.size > MOST_BYTES:
            self._pass_over(letter, f"The mail has {letter.size} bytes; at most {MOST_BYTES} are read.")
            return
        if self.runtime.database.write(lambda tx: self._count(tx, letter)) > MOST_ATTEMPTS:
            self._pass_over(letter, TOO_OFTEN)
            return
        began, content = time.monotonic(), self.mailbox.read(letter)
        if content is None:
            return
        try:
            events = read_mail(content, str(self.gateway.config["from_address"]))
        except Unread as error:
            self._pass_over(letter, str(error), content)
            return
        except Exception:  # of the library's parser, which meets whatever strangers write
            logger.exception("a mail of channel %s cannot be read", self.held.channel_id)
            self._pass_over(letter, OWN_ERROR, content)
            return
        dated = [_dated(each, letter) for each in events]
        received, files = receive_contents(self.store, dated)
        try:
            self.runtime.database.write(lambda tx: self._record(tx, letter, received, content, began))
        except Refused as error:
            self._pass_over(letter, str(error), content)
        for each in files:
            settle_received(self.runtime.database, self.store, each)

    def _count(self, tx: Transaction, letter: Letter) -> int:
        """Counts that it is begun to read a mail; returns how often it was."""
        mark = self._mark(tx)
        attempts = mark.attempts + 1 if mark.trying == letter.number else 1
        self._remember(tx, replace(mark, trying=letter.number, attempts=attempts))
        return attempts

    def _record(self, tx: Transaction, letter: Letter, received: Sequence[Event], content: bytes, began: float) -> None:
        mark = self._mark(tx)
        if letter.number <= mark.number:
            return
        root, quota = self.runtime.settings.base_url.rstrip("/"), self.runtime.settings.media_quota_bytes
        told = record_events(tx, self.gateway, received, root, quota) if received else Told("Nothing to do.")
        self._remember(tx, replace(mark, number=letter.number))
        self._trace(tx, letter, content, told=told, seconds=time.monotonic() - began)

    def _pass_over(self, letter: Letter, reason: str, content: bytes = b"") -> None:
        logger.info("a mail of channel %s is passed over: %s", self.held.channel_id, reason)

        def work(tx: Transaction) -> None:
            self._remember(tx, replace(self._mark(tx), number=letter.number))
            self._trace(tx, letter, content, error=reason)

        self.runtime.database.write(work)

    def _mark(self, tx: Transaction) -> Mark:
        """Raises LeaseLost."""
        return Mark.of(remembered_of(tx, self.held))

    def _remember(self, tx: Transaction, mark: Mark) -> None:
        remember(tx, self.held, remembered_of(tx, self.held) | mark.stored())

    def _trace(
        self,
        tx: Transaction,
        letter: Letter,
        content: bytes,
        *,
        told: Told | None = None,
        error: str | None = None,
        seconds: float = 0.0,
    ) -> None:
        """What the owner of the channel sees of a mail, in the unit of work of what it did."""
        outcome = ACCEPTED if error is None else REFUSED_CALL
        if not self.sampler.takes(self.held.channel_id, outcome):
            return
        place, message_id = place_of(self.gateway.config), None if told is None else told.message_id
        assert place is not None, "a mailbox is open"
        url = (
            f"imap://{place.host}:{place.port}/{place.folder};UIDVALIDITY={self.mailbox.validity}/;UID={letter.number}"
        )
        request = Request("FETCH", url, {}, content[:READ_BYTES])
        call = GatewayCall(
            workspace_id=self.held.workspace_id,
            channel_id=self.held.channel_id,
            contact_id=(None if message_id is None else find_contact(tx, self.gateway, message_id)) or 0,
            message_id=message_id or 0,
            part=0,
            outcome=outcome,
            duration_ms=round(seconds * 1000),
            direction=INWARD,
            result=None if told is None else told.text,
            **describe_request(self.held.channel_type, self.gateway.config, request, None, error),
        )
        record_calls(tx, [call])


def _dated(event: Event, letter: Letter) -> Event:
    """A mail without a date is known by when it arrived, if it has no id either."""
    if isinstance(event, Received) and event.sent_on is None:
        return replace(event, sent_on=letter.arrived_on)
    return event


def _pause_of(held: Held) -> timedelta:
    config = {} if held.gateway is None else held.gateway.config
    return timedelta(seconds=int(config.get("imap_seconds") or DEFAULT_SECONDS))


def _failed(held: Held, reason: str, *, is_answered: bool = True, **news: int) -> Turn:
    """The longer, the more failures there were in a row."""
    failures = int(held.remembered.get("failures") or 0) + 1
    usual = _pause_of(held)
    pause = min(usual * 2 ** min(failures - 1, 10), max(LONGEST_PAUSE, usual))
    return Turn(held, FAILED, reason, pause, {"failures": failures, **news}, is_answered)
