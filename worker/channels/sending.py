"""Sends messages to HTTP gateways, by a dispatcher of due message parts, and keeps of each call the request and the
response without secrets.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from channels.calls import Attachment, Later, Message, QuickReply, Request, Response, Sent, Template
from channels.sms import SCHEME, transliterate
from channels.types import TYPES
from persistence.channels.gateway_leases import (
    GatewaySend,
    SendOutcome,
    begin_sends,
    lease_sends,
    list_due_gateways,
    record_sends,
)
from persistence.channels.health import ACCEPTED, UNANSWERED, GatewayCall
from persistence.channels.health import REFUSED_CALL as REFUSED
from persistence.channels.traces import CallSampler, describe_request
from persistence.database import Transaction
from worker.dispatcher import (
    LEASE_FACTOR,
    AfterCommit,
    Ask,
    Finished,
    Leased,
    LeasedQueue,
    ReceiverSlots,
    begin_dispatching,
    do_nothing,
)
from worker.http.connections import SendFailed
from worker.http.safe_http import HttpResponse, LastLook, SafeHttp
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.sending")

FIRST_SLOTS, MOST_SLOTS = 8, 96
"""A gateway that responds in 50 ms needs 50 concurrent calls for 1,000 per second."""
SLOTS = 4 * MOST_SLOTS
"""Three gateways can use their maximum at the same time, with slots left for a fourth. Threads start when needed."""

REASON_LENGTH = 500


def begin_sending(runtime: Runtime) -> Callable[[], bool]:
    return begin_dispatching(runtime, GatewayQueue(runtime), ReceiverSlots(SLOTS, first=FIRST_SLOTS, most=MOST_SLOTS))


class NotBegun(Exception):
    """The part is not this worker's any more, or the worker stops: nothing was written."""


def describe_call(
    send: GatewaySend,
    request: Request,
    *,
    outcome: str,
    response: HttpResponse | None = None,
    error: str | None = None,
    seconds: float,
) -> GatewayCall:
    """The call as it is kept. What the gateway's settings hold that may be a secret is hidden wherever it appears."""
    said = None if response is None else (response.status, response.body)
    return GatewayCall(
        workspace_id=send.workspace_id,
        channel_id=send.channel_id,
        contact_id=send.contact_id,
        message_id=send.message_id,
        part=send.part,
        outcome=outcome,
        duration_ms=round(seconds * 1000),
        **describe_request(send.channel_type, send.config or {}, request, said, error, send.secret),
    )


def outcome_of(*, is_accepted: bool, is_answered: bool) -> str:
    return ACCEPTED if is_accepted else REFUSED if is_answered else UNANSWERED


def message_of(send: GatewaySend, root: str = "", now: datetime | None = None) -> Message:
    """The message of a part, as its channel type sees it; `root` is the public URL of the service, if it is known,
    `now` the moment of sending."""
    path_of = TYPES[send.channel_type].callback_path
    is_called = root and send.secret
    (scheme, _, path), made = send.urn.partition(":"), send.template
    return Message(
        uuid=send.message_uuid,
        id=send.message_id,
        channel_id=send.channel_id,
        scheme=scheme,
        to=path,
        text=transliterate(send.text) if send.is_transliterated and scheme == SCHEME else send.text,
        address=send.address or "",
        country=send.country or "",
        attachments=tuple(Attachment(each["content_type"], each["url"]) for each in send.attachments),
        quick_replies=tuple(QuickReply(each["text"], each.get("extra") or "") for each in send.quick_replies),
        callback_url=root + path_of.format(uuid=send.channel_uuid, secret=send.secret) if is_called else "",
        now=now,
        answers="" if send.thread is None else send.thread.reference,
        subject="" if send.thread is None else send.thread.subject,
        template=None if made is None else _template(made),
    )


def _template(made: Mapping[str, Any]) -> Template:
    return Template(made["name"], made["language"], tuple(made["variables"]), made.get("id", ""))


class GatewayQueue(LeasedQueue[GatewaySend, SendOutcome]):
    """The queue of message parts; each gateway is a receiver."""

    name = "sending"
    is_shared = True

    def __init__(self, runtime: Runtime) -> None:
        self._http = runtime.http
        self._clock = runtime.database.clock
        self._share = runtime.share
        self._root = runtime.settings.base_url.rstrip("/")
        self._sampler = CallSampler()
        self._lease = timedelta(seconds=runtime.http.total_timeout_seconds * LEASE_FACTOR)

    def list_due(self, tx: Transaction) -> list[str]:
        return [f"{workspace_id} {channel_id}" for workspace_id, channel_id in list_due_gateways(tx, self._share)]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[GatewaySend]:
        leased = lease_sends(tx, {int(receiver.split()[1]): room for receiver, room in rooms.items()}, self._lease)
        return Leased([(f"{send.workspace_id} {send.channel_id}", send) for send in leased.sends], leased.look_again_on)

    def call(self, item: GatewaySend) -> tuple[SendOutcome, bool]:
        return hand_over(self._http, item, self._sampler, self.ask, self._clock, self._root)

    def take_down(self, tx: Transaction, items: Sequence[GatewaySend]) -> Mapping[int, GatewaySend]:
        return begin_parts(tx, items, self._lease)

    def record(self, tx: Transaction, finished: Sequence[Finished[GatewaySend, SendOutcome]]) -> AfterCommit:
        return record_parts(tx, finished)


def begin_parts(tx: Transaction, items: Sequence[GatewaySend], lease: timedelta) -> dict[int, GatewaySend]:
    """For `take_down`: the parts that are still leased, as they are leased now."""
    begun = begin_sends(tx, items, lease)
    return {id(each): replace(each, due_on=begun[each.id]) for each in items if each.id in begun}


def record_parts(tx: Transaction, finished: Sequence[Finished[GatewaySend, SendOutcome]]) -> AfterCommit:
    """For `record`: what became of parts; those whose call ended with an error of the worker are tried later."""
    record_sends(tx, [each.result or SendOutcome(each.item, Later("The worker met an error.")) for each in finished])
    return do_nothing


def hand_over(
    http: SafeHttp,
    send: GatewaySend,
    sampler: CallSampler,
    ask: Ask[GatewaySend],
    clock: Callable[[], datetime],
    root: str = "",
) -> tuple[SendOutcome, bool]:
    """Sends one part to its gateway, and returns whether there was a response. `ask` says right before the request is
    written whether it may be, and until when the part is leased then. It is not written after that: another worker has
    it then, or says that it is uncertain, and people may have sent it again.
    """
    if send.config is None:
        logger.warning("message %s cannot be sent: the settings of its gateway cannot be read", send.message_id)
        return SendOutcome(send, Later("The settings of the gateway cannot be read.")), False
    if send.is_uncertain:
        logger.warning("the worker that sent part %s of message %s died", max(send.part - 1, 1), send.message_id)
    kind = TYPES[send.channel_type]
    assert kind.requests is not None, "only parts of such types are leased"
    requests = kind.requests(message_of(send, root, clock()), send.config)
    if send.part > len(requests):  # the lease of the last part belonged to a worker that died
        return SendOutcome(send, Sent()), True
    assert kind.accepted is not None, "a type with requests judges the responses"
    request, leased = requests[send.part - 1], send

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

    started, response = time.monotonic(), None
    try:
        response = http.send(
            request.method, request.url, headers=request.headers, body=request.body, before_writing=begin
        )
        result = kind.accepted(_as_read(response), send.config)
        if not isinstance(result, Sent):
            logger.warning("message %s was refused with status %s", send.message_id, response.status)
    except NotBegun:
        return SendOutcome(send, Later("Nothing was written."), is_begun=False), True
    except SendFailed as error:
        result = Later(str(error))
        logger.warning("message %s could not be handed over: %s", send.message_id, error)
    seconds, is_answered, is_accepted = time.monotonic() - started, response is not None, isinstance(result, Sent)
    outcome, reason = outcome_of(is_accepted=is_accepted, is_answered=is_answered), None
    if not isinstance(result, Sent):
        reason = result.reason[:REASON_LENGTH]
    call = None
    if sampler.takes(send.channel_id, outcome):
        call = describe_call(send, request, outcome=outcome, response=response, error=reason, seconds=seconds)
    return SendOutcome(send, result, has_more=is_accepted and send.part < len(requests), call=call), is_answered


def _as_read(response: HttpResponse) -> Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status, headers, response.body)
