"""Hands messages to mail servers, by a dispatcher of due parts; a mail is one part. It counts as begun once the server
has taken sender and recipient, right before its text is written. If there is no answer to that, nobody knows whether
the server has it.
"""

import asyncio
import logging
import smtplib
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from socket import socket

from channels.calls import Later, Message, Outcome, Refused, Request, Sent
from channels.email import CLOSING, answered, message_id_of, write_mail
from persistence.channels.gateway_leases import (
    GatewaySend,
    SendOutcome,
    lease_sends,
    list_due_gateways,
)
from persistence.channels.health import GatewayCall
from persistence.channels.threads import find_threads
from persistence.channels.traces import CallSampler, describe_request
from persistence.database import Transaction
from relayboard.base.mail_server import STARTTLS, MailServer
from worker.channels.email import TYPES
from worker.channels.sending import begin_parts, message_of, outcome_of, record_parts
from worker.channels.transports import dial_allowed
from worker.dispatcher import (
    LEASE_FACTOR,
    AfterCommit,
    Finished,
    Leased,
    LeasedQueue,
    ReceiverSlots,
    begin_dispatching,
)
from worker.http.connections import Deadline, SendFailed
from worker.runtime import Runtime
from worker.smtp import explain, sign_in, time_limit

logger = logging.getLogger("relayboard.email")

SLOTS, FIRST_SLOTS, MOST_SLOTS = 32, 2, 8
"""Mail servers allow few connections at a time."""
DEFAULT_PORT = 587
CONNECT_SECONDS = 10.0
WORDS_LENGTH = 500
UNKNOWN = "Nobody knows whether the mail server has the message."


class NotBegun(Exception):
    """The message is not this worker's any more, or the worker stops: its text was not written."""


@dataclass(slots=True)
class Said:
    """What the mail server said last about a message, how that is leased now, and whether its text was written."""

    send: GatewaySend
    code: int | None = None
    words: str = ""
    is_written: bool = False

    def take(self, reply: tuple[int, bytes | str]) -> bool:
        """Keeps a reply; whether it is no refusal."""
        self.code, words = reply
        self.words = (words.decode(errors="replace") if isinstance(words, bytes) else words)[:WORDS_LENGTH]
        return 200 <= self.code < 400


def begin_handing_in(runtime: Runtime) -> Callable[[], bool]:
    """The step that wakes the dispatcher."""
    return begin_dispatching(runtime, MailQueue(runtime), ReceiverSlots(SLOTS, first=FIRST_SLOTS, most=MOST_SLOTS))


class MailQueue(LeasedQueue[GatewaySend, SendOutcome]):
    """The messages of channels that send e-mail."""

    name = "email"

    def __init__(self, runtime: Runtime) -> None:
        self._http = runtime.http
        self._clock = runtime.database.clock
        self._sampler = CallSampler()
        self._lease = timedelta(seconds=runtime.http.total_timeout_seconds * LEASE_FACTOR)

    def list_due(self, tx: Transaction) -> list[str]:
        return [f"{workspace_id} {channel_id}" for workspace_id, channel_id in list_due_gateways(tx, types=TYPES)]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[GatewaySend]:
        leased = lease_sends(tx, {int(receiver.split()[1]): room for receiver, room in rooms.items()}, self._lease)
        threads = find_threads(tx, [(each.workspace_id, each.channel_id, each.contact_id) for each in leased.sends])
        sends = [replace(each, thread=threads.get((each.channel_id, each.contact_id))) for each in leased.sends]
        return Leased([(f"{send.workspace_id} {send.channel_id}", send) for send in sends], leased.look_again_on)

    def take_down(self, tx: Transaction, items: Sequence[GatewaySend]) -> Mapping[int, GatewaySend]:
        return begin_parts(tx, items, self._lease)

    def record(self, tx: Transaction, finished: Sequence[Finished[GatewaySend, SendOutcome]]) -> AfterCommit:
        return record_parts(tx, finished)

    def call(self, item: GatewaySend) -> tuple[SendOutcome, bool]:
        """Hands in one message, and returns whether the mail server answered."""
        if item.config is None:
            logger.warning("message %s cannot be sent: the settings of its channel cannot be read", item.message_id)
            return SendOutcome(item, Later("The settings of the channel cannot be read.")), False
        if item.part > 1:  # the lease belonged to a worker that died
            logger.warning("the worker that sent message %s died", item.message_id)
            return SendOutcome(item, Sent()), True
        message, said, started = message_of(item), Said(item), time.monotonic()
        result: Outcome
        try:
            content = write_mail(message, item.config, self._clock())
        except ValueError:
            return SendOutcome(item, Refused("An address, a name or the subject cannot be written in a mail.")), True
        try:
            with time_limit(self._http.total_timeout_seconds) as deadline:
                self._hand_in(said, message.to, content, deadline)
            result = answered(said.code or 0, said.words, message_id_of(message, item.config))
        except NotBegun:
            return SendOutcome(said.send, Later("Nothing was written."), is_begun=False), True
        except (OSError, smtplib.SMTPException, SendFailed, ValueError) as error:
            result = _outcome_of(error, said)
        if not isinstance(result, Sent):
            logger.warning("message %s was not handed in: %s", item.message_id, result.reason)
        call = self._describe(said.send, message, said, result, time.monotonic() - started)
        return SendOutcome(said.send, result, call=call), said.code is not None

    def _hand_in(self, said: Said, to: str, content: bytes, deadline: Deadline) -> None:
        """Up to the answer to the text, or to what is refused before. Raises NotBegun, and what goes wrong with the
        connection."""
        server = _server_of(said.send)
        context = ssl.create_default_context(cafile=self._http.certificates)
        client = sign_in(server, deadline, self._dial, context)
        try:
            client.ehlo_or_helo_if_needed()
            if not (said.take(client.mail(server.sender)) and said.take(client.rcpt(to))):
                return
            begun = asyncio.run(_ask(self, said.send))
            if begun is None:
                raise NotBegun
            said.send = begun
            if self._clock() >= begun.due_on:
                raise NotBegun
            said.is_written = True
            said.take(client.data(content))
        finally:
            with suppress(OSError, smtplib.SMTPException):
                client.putcmd("QUIT")
            client.close()

    def _dial(self, host: str, port: int, seconds: float) -> socket:
        """Only where this service may call. Raises SendFailed."""
        sock = dial_allowed(self._http, host, port, min(seconds, CONNECT_SECONDS))
        sock.settimeout(seconds)
        return sock

    def _describe(
        self, send: GatewaySend, message: Message, said: Said, result: Outcome, seconds: float
    ) -> GatewayCall | None:
        """The conversation as it is kept, without its secrets."""
        word = outcome_of(is_accepted=isinstance(result, Sent), is_answered=said.code is not None)
        if not self._sampler.takes(send.channel_id, word):
            return None
        server, config = _server_of(send), send.config or {}
        headers = {"from": str(config["from_address"]), "to": message.to}
        request = Request("DATA", f"smtp://{server.host}:{server.port}", headers, message.text.encode())
        answer = None if said.code is None else (said.code, said.words.encode())
        error = None if isinstance(result, Sent) else result.reason
        return GatewayCall(
            workspace_id=send.workspace_id,
            channel_id=send.channel_id,
            contact_id=send.contact_id,
            message_id=send.message_id,
            part=send.part,
            outcome=word,
            duration_ms=round(seconds * 1000),
            **describe_request(send.channel_type, config, request, answer, error, send.secret),
        )


async def _ask(queue: MailQueue, item: GatewaySend) -> GatewaySend | None:
    return await queue.ask(item)


def _server_of(send: GatewaySend) -> MailServer:
    config = send.config or {}
    return MailServer(
        host=str(config["host"]),
        port=int(config.get("port") or DEFAULT_PORT),
        sender=str(config["from_address"]),
        security=str(config.get("security") or STARTTLS),
        user=str(config.get("user") or ""),
        password=str(config.get("password") or ""),
    )


def _outcome_of(error: Exception, said: Said) -> Outcome:
    """What is known after the conversation broke off, or was refused before there was a recipient."""
    if isinstance(error, SendFailed):
        return Later(str(error))
    if isinstance(error, smtplib.SMTPDataError):  # it did not want the text
        said.take((error.smtp_code, error.smtp_error))
        return answered(error.smtp_code, said.words)
    words = explain(error)
    sentence = f"{words[0].upper()}{words[1:]}."
    if said.is_written:
        said.code = None
        return Later(f"{sentence} {UNKNOWN}")
    if isinstance(error, smtplib.SMTPConnectError) and said.take((error.smtp_code, error.smtp_error)) is False:
        return Later(f"The mail server says {said.code}: {said.words}", is_for_all=error.smtp_code == CLOSING)
    return Later(sentence)
