"""Sends messages to HTTP gateways, by a dispatcher of due message parts."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from persistence.channels.gateway_leases import (
    GatewaySend,
    SendOutcome,
    begin_sends,
    lease_sends,
    list_due_gateways,
    record_sends,
)
from persistence.database import Transaction
from worker.callers import Ask, Finished
from worker.channels.call_log import CallSampler, describe_call, outcome_of
from worker.channels.senders import sender_of
from worker.dispatcher import LEASE_FACTOR, AfterCommit, Leased, LeasedQueue, begin_dispatching, do_nothing
from worker.http.errors import SendFailed
from worker.http.safe_http import LastLook, SafeHttp
from worker.receiver_slots import ReceiverSlots
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.sending")

FIRST_SLOTS, MOST_SLOTS = 8, 96
"""A gateway that responds in 50 ms needs 50 concurrent calls for 1,000 per second."""
SLOTS = 4 * MOST_SLOTS
"""Three gateways can use their maximum at the same time, with slots left for a fourth. Threads start when needed."""


def begin_sending(runtime: Runtime) -> Callable[[], bool]:
    return begin_dispatching(runtime, GatewayQueue(runtime), ReceiverSlots(SLOTS, first=FIRST_SLOTS, most=MOST_SLOTS))


class GatewayQueue(LeasedQueue[GatewaySend, SendOutcome]):
    """The queue of message parts; each gateway is a receiver."""

    name = "sending"
    is_shared = True

    def __init__(self, runtime: Runtime) -> None:
        self._http = runtime.http
        self._clock = runtime.database.clock
        self._share = runtime.share
        self._sampler = CallSampler()
        self._lease = timedelta(seconds=runtime.http.total_timeout_seconds * LEASE_FACTOR)

    def list_due(self, tx: Transaction) -> list[str]:
        return [f"{workspace_id} {channel_id}" for workspace_id, channel_id in list_due_gateways(tx, self._share)]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[GatewaySend]:
        leased = lease_sends(tx, {int(receiver.split()[1]): room for receiver, room in rooms.items()}, self._lease)
        return Leased([(f"{send.workspace_id} {send.channel_id}", send) for send in leased.sends], leased.look_again_on)

    def call(self, item: GatewaySend) -> tuple[SendOutcome, bool]:
        return hand_over(self._http, item, self._sampler, self.ask, self._clock)

    def take_down(self, tx: Transaction, items: Sequence[GatewaySend]) -> Mapping[int, GatewaySend]:
        begun = begin_sends(tx, items, self._lease)
        return {id(each): replace(each, due_on=begun[each.id]) for each in items if each.id in begun}

    def record(self, tx: Transaction, finished: Sequence[Finished[GatewaySend, SendOutcome]]) -> AfterCommit:
        record_sends(tx, [each.result or SendOutcome(each.item, is_accepted=False) for each in finished])
        return do_nothing


class NotBegun(Exception):
    """The part is not this worker's any more, or the worker stops: nothing was written."""


def hand_over(
    http: SafeHttp,
    send: GatewaySend,
    sampler: CallSampler,
    ask: Ask[GatewaySend],
    clock: Callable[[], datetime],
) -> tuple[SendOutcome, bool]:
    """Sends one part to its gateway, and returns whether there was a response. `ask` says right before the request is
    written whether it may be, and until when the part is leased then. It is not written after that: another worker has
    it then, or says that it is uncertain, and people may have sent it again.
    """
    if send.config is None:
        logger.warning("message %s cannot be sent: the settings of its gateway cannot be read", send.message_id)
        return SendOutcome(send, is_accepted=False), False
    if send.is_uncertain:
        logger.warning("the worker that sent part %s of message %s died", max(send.part - 1, 1), send.message_id)
    sender = sender_of(send.channel_type)
    requests = sender.make_requests(send, send.config)
    if send.part > len(requests):  # the lease of the last part belonged to a worker that died
        return SendOutcome(send, is_accepted=True), True
    request = requests[send.part - 1]
    leased = send

    async def begin() -> LastLook:
        nonlocal send
        begun = await ask(leased)
        if begun is None:
            raise NotBegun
        send = begun
        return look_again

    def look_again() -> None:
        if clock() >= send.due_on:
            raise NotBegun

    started, response, failure = time.monotonic(), None, None
    try:
        response = http.send(
            request.method, request.url, headers=request.headers, body=request.body, before_writing=begin
        )
        is_accepted = sender.is_accepted(send.config, response.status, response.body)
        if not is_accepted:
            logger.warning("message %s was refused with status %s", send.message_id, response.status)
    except NotBegun:
        return SendOutcome(send, is_accepted=False, is_begun=False), True
    except SendFailed as error:
        is_accepted, failure = False, str(error)
        logger.warning("message %s could not be handed over: %s", send.message_id, error)
    seconds, is_answered = time.monotonic() - started, response is not None
    outcome = outcome_of(is_accepted=is_accepted, is_answered=is_answered)
    call = None
    if sampler.takes(send.channel_id, outcome):
        call = describe_call(send, request, outcome=outcome, response=response, error=failure, seconds=seconds)
    return SendOutcome(send, is_accepted, has_more=is_accepted and send.part < len(requests), call=call), is_answered
