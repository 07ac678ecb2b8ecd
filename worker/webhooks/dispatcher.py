"""Delivers events to webhooks, by a dispatcher of due deliveries: the signed request, whether the event is accepted,
tried again or given up, and the message in the response, which is untrusted input.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import partial

import orjson

from flows.urns import URN_LENGTH_MAX, UrnError, read_urn
from persistence.channels.event_form import CHANNEL_EVENTS, UNANSWERED
from persistence.database import Transaction
from persistence.deliveries.leases import (
    AttemptOutcome,
    DueDelivery,
    lease_within_paces,
    list_due_receivers,
    note_ignored,
    record_attempt,
    record_attempts,
)
from persistence.deliveries.receivers import Signer, find_signers
from persistence.deliveries.settings import Endpoint, GivenUp, SwitchedOff, note_outcomes
from persistence.messages.outgoing import send_event_reply
from persistence.secrets.encryption import hide_in_url
from persistence.sql.columns import is_uuid
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING
from persistence.workspaces.records import find_workspace
from worker.dispatcher import (
    LEASE_FACTOR,
    AfterCommit,
    CalledQueue,
    Callers,
    Finished,
    Leased,
    LoopCallers,
    ReceiverSlots,
    begin_dispatching,
)
from worker.http.connections import SendFailed, read_retry_after
from worker.http.safe_http import HttpResponse, SafeHttp
from worker.metrics import count_attempt, count_switched_off
from worker.runtime import Runtime
from worker.webhooks.signing import schemes_of, signature_headers, signing_now

logger = logging.getLogger("relayboard.webhooks")

SLOTS = 128
SLOTS_PER_RECEIVER = 8

Judged = Sequence[tuple[DueDelivery, AttemptOutcome]]
Signed = tuple[DueDelivery, Signer | None]

RETRIES = 3
"""Events, receiver response rules: delivery is retried up to three times."""
JITTER = 0.2
RETRY_AFTER_MIN_SECONDS = 1.0
RETRY_AFTER_MAX_SECONDS = 3600.0
GONE_STATUS = 410
WAITING_STATUSES = (429, 503)
KEPT_HEADERS = ("Content-Type", "Location", "Retry-After")
"""Of a response; others may contain secrets."""
HEADER_LENGTH = 200

DAMAGED = "The secret that signs this event cannot be decrypted; set a new one."

TEXT_LENGTH = 480
"""Receiver response rules: `text` has at most 480 characters."""
RECIPIENTS = 100
IGNORED = "The reply in the response is ignored"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of calling a receiver: its response, or a sentence that says why there is none; the schemes of the
    request's signatures, and the receiver's own retry delays in seconds."""

    delivery: DueDelivery
    answer: HttpResponse | None
    error: str | None
    duration_seconds: float
    delay_seconds: float = 0.0
    signed: str | None = None
    own_delays: Sequence[float] | None = None


Call = Finished[Signed, Attempt]


@dataclass(slots=True)
class Recorded:
    """What a transaction recorded, for the log and the metrics after its commit."""

    judged: Judged
    switched_off: list[SwitchedOff] = field(default_factory=list)

    def report(self, *, counts: bool) -> None:
        """Logs which receivers were switched off, and counts everything for `/metrics` unless that is off."""
        if counts:
            for _, outcome in self.judged:
                count_attempt(outcome.state, outcome.delay_seconds)
            for each in self.switched_off:
                count_switched_off(each.endpoint.kind)
        for each in self.switched_off:
            logger.warning(
                "the webhook of %s %s was switched off: %s", each.endpoint.kind, each.endpoint.number, each.reason
            )


def begin_webhooks(runtime: Runtime) -> Callable[[], bool]:
    return begin_dispatching(runtime, DeliveryQueue(runtime), ReceiverSlots(SLOTS, first=SLOTS_PER_RECEIVER))


def endpoint_of(leased: DueDelivery) -> Endpoint:
    """The channel or subscriber to whose URL a delivery goes."""
    if leased.subscriber_id is not None:
        return Endpoint(leased.workspace_id, subscriber_id=leased.subscriber_id)
    return Endpoint(leased.workspace_id, channel_id=leased.channel_id)


class Verdict(Enum):
    DELIVERED = "delivered"
    RETRY = "retry"
    FAILED = "failed"
    GONE = "gone"


STATES = {Verdict.DELIVERED: DELIVERED, Verdict.RETRY: PENDING, Verdict.FAILED: FAILED, Verdict.GONE: FAILED}


@dataclass(frozen=True, slots=True)
class Decision:
    """`retry_at` is set when the verdict is RETRY."""

    verdict: Verdict
    retry_at: datetime | None = None


def decide(
    *,
    attempt: int,
    status: int | None,
    now: datetime,
    chance: float,
    delays_seconds: Sequence[float],
    most_retries: int = RETRIES,
    retry_after: str | None = None,
    is_subscriber: bool = False,
) -> Decision:
    """The decision after one attempt. `attempt` counts from 1, `status` is None if there was no response, `chance` is a
    random number in [0, 1), `retry_after` is the header of that name. With delays of 10, 120 and 900 seconds and
    `chance` 0.5, a delivery that fails at 0:00 is repeated at 0:10, 2:10 and 17:10 and then given up; other values of
    `chance` change each delay by up to a fifth. 2xx accepts. After everything else the delivery is tried again, also
    after redirects, which are never followed. 410 ends a subscription; for the delivery URL of a channel, which belongs
    to the channel's owner, it is a failure like others. 429 and 503 may ask for a delay by `Retry-After`, in seconds or
    as a date, which is limited to between a second and an hour.
    """
    if status is not None and 200 <= status < 300:
        return Decision(Verdict.DELIVERED)
    if status == GONE_STATUS and is_subscriber:
        return Decision(Verdict.GONE)
    if attempt > min(most_retries, len(delays_seconds)):
        return Decision(Verdict.FAILED)
    asked_seconds = read_retry_after(retry_after, now) if status in WAITING_STATUSES else None
    if asked_seconds is None:
        delay_seconds = delays_seconds[attempt - 1] * (1 - JITTER + 2 * JITTER * chance)
    else:
        # Never earlier than requested, and not all at the same time.
        bounded_seconds = min(max(asked_seconds, RETRY_AFTER_MIN_SECONDS), RETRY_AFTER_MAX_SECONDS)
        delay_seconds = bounded_seconds * (1 + JITTER * chance)
    return Decision(Verdict.RETRY, now + timedelta(seconds=delay_seconds))


@dataclass(frozen=True, slots=True)
class Reply:
    """A message to URNs (normalized) and contacts (UUIDs); without both it goes to the contact of the event."""

    text: str
    urns: tuple[str, ...] = ()
    contact_uuids: tuple[str, ...] = ()


def read_answer(body: bytes, country: str = "") -> Reply | str | None:
    """The message in an accepting response, or why what looks like one is ignored; None for an acknowledgment. `urn`
    and `contact` may be a list or a single string, at most 100 each. `country` (ISO letters, may be empty) is that of
    the workspace, for numbers without a country code.
    """
    try:
        return _interpret(orjson.loads(body), country)
    except orjson.JSONDecodeError:
        # One word (`OK`) is an acknowledgment, and so is a page for browsers.
        text = body.strip()
        is_acknowledgment = (len(text.split(maxsplit=1)) < 2 and text[:1] not in b"{[") or text[:1] == b"<"
        return None if is_acknowledgment else f"{IGNORED}: it is not JSON."


def may_be_answered(delivered: DueDelivery, answer: HttpResponse) -> bool:
    """Whether an accepting response to this event can contain a message to send; never for subscribers of resthooks."""
    is_readable = answer.is_complete and answer.body.lstrip()[:1] == b"{"
    return is_readable and _is_answerable(delivered)


def say_ignored(delivered: DueDelivery, answer: HttpResponse) -> str | None:
    """Why an accepting response that cannot contain a message, but looks as if it should, is ignored."""
    if delivered.subscriber_id is not None or delivered.event not in CHANNEL_EVENTS:
        return None
    found = read_answer(answer.body)
    if not _is_answerable(delivered):
        return f"{IGNORED}: a response to {delivered.event} sends no message." if isinstance(found, Reply) else None
    if not answer.is_complete:
        return f"{IGNORED}: it is too long, or it was cut off."
    return found if isinstance(found, str) else None


def _say_why(outcome: AttemptOutcome) -> str:
    return outcome.error or f"the receiver responded with status {outcome.status}."


def _kept_headers(answer: HttpResponse) -> dict[str, str]:
    found = ((name, answer.headers.get(name)) for name in KEPT_HEADERS)
    # PostgreSQL stores no NUL.
    kept = ((name, value.replace("\0", "\N{REPLACEMENT CHARACTER}")[:HEADER_LENGTH]) for name, value in found if value)
    return {name: hide_in_url(value) for name, value in kept}


def _interpret(document: object, country: str) -> Reply | str | None:
    if not isinstance(document, dict) or "text" not in document:
        return None
    text = _read_text(document["text"])
    if text is None:
        return f"{IGNORED}: its text is empty or no text, or has more than {TEXT_LENGTH} characters."
    urns, contact_uuids = _read_texts(document.get("urn")), _read_texts(document.get("contact"))
    if urns is None or contact_uuids is None:
        return f"{IGNORED}: urn and contact are texts or lists of at most {RECIPIENTS} texts."
    if not all(is_uuid(contact_uuid) for contact_uuid in contact_uuids):
        return f"{IGNORED}: a contact is named by its UUID."
    try:
        normalized = [str(read_urn(urn, country, path_length=URN_LENGTH_MAX)) for urn in urns]
    except UrnError as error:
        return f"{IGNORED}: {str(error)[:200]}"
    unique_uuids = dict.fromkeys(contact_uuid.lower() for contact_uuid in contact_uuids)
    return Reply(text, tuple(dict.fromkeys(normalized)), tuple(unique_uuids))


def _read_text(value: object) -> str | None:
    if not isinstance(value, str) or "\0" in value or not value.strip() or len(value) > TEXT_LENGTH:
        return None
    return value


def _read_texts(value: object) -> list[str] | None:
    if value is None:
        return []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or len(values) > RECIPIENTS:
        return None
    return values if all(isinstance(each, str) and "\0" not in each for each in values) else None


def _is_answerable(delivered: DueDelivery) -> bool:
    event = delivered.event
    return delivered.subscriber_id is None and event in CHANNEL_EVENTS and event not in UNANSWERED


class DeliveryQueue(CalledQueue[Signed, Attempt]):
    """The queue of deliveries, with retries by the retry rule and replies that become messages."""

    name = "webhooks"

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lease = timedelta(seconds=runtime.http.total_timeout_seconds * LEASE_FACTOR)
        self._switch_off_after = timedelta(days=runtime.settings.webhook_switch_off_days)
        self._retries: list[datetime] = []

    def list_due(self, tx: Transaction) -> list[str]:
        return [f"{workspace_id} {receiver}" for workspace_id, receiver in list_due_receivers(tx)]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[Signed]:
        wanted = {_read_receiver(name): room for name, room in rooms.items()}
        leased, look_again_on = lease_within_paces(tx, wanted, self._lease)
        signers = find_signers(tx, leased)
        items = [(f"{due.workspace_id} {due.receiver}", (due, signers.get(due.id))) for due in leased]
        return Leased(items, look_again_on)

    def callers(self, total: int) -> Callers[Signed, Attempt]:
        return LoopCallers(self.name, self._runtime.http, self.call)

    async def call(self, item: Signed) -> tuple[Attempt, bool]:
        due, signer = item
        attempt = await call_receiver(self._runtime.http, due, signer, self._runtime.database.clock())
        return attempt, attempt.answer is not None

    def record_alone(self, finished: Call) -> AfterCommit | None:
        """Records a call whose response contains a message, together with that message."""
        attempt = finished.result
        if attempt is None or not _holds_message(attempt):
            return None
        return self._report(self._runtime.database.write(partial(self._record_and_reply, attempt)))

    def record(self, tx: Transaction, finished: Sequence[Call]) -> AfterCommit:
        judged = [
            (attempt.delivery, _with_reason(attempt, self._judge(attempt, tx.now)))
            for attempt in map(_attempt_of, finished)
        ]
        record_attempts(tx, judged)
        return self._report(note_health(tx, judged, self._switch_off_after))

    def next_look(self, finished: Sequence[Call]) -> Sequence[datetime]:
        retries, self._retries = self._retries, []
        return retries

    def _report(self, recorded: Recorded) -> AfterCommit:
        return partial(recorded.report, counts=self._runtime.settings.metrics)

    def _record_and_reply(self, attempt: Attempt, tx: Transaction) -> Recorded:
        outcome = self._judge(attempt, tx.now)
        if record_attempt(tx, attempt.delivery, outcome) and attempt.answer is not None:
            sent = send_reply(tx, attempt.delivery, attempt.answer)
            if isinstance(sent, str):
                note_ignored(tx, attempt.delivery, sent)
        return note_health(tx, [(attempt.delivery, outcome)], self._switch_off_after)

    def _judge(self, attempt: Attempt, now: datetime) -> AttemptOutcome:
        delays_seconds = self._runtime.settings.webhook_retry_delays_seconds
        outcome = judge(attempt, now, self._runtime.chance(), delays_seconds)
        if outcome.retry_at is not None:
            self._retries.append(outcome.retry_at)
        return outcome


def note_health(tx: Transaction, judged: Judged, switch_off_after: timedelta) -> Recorded:
    """Stores which receivers accepted and which were given up, in the transaction that records the attempts."""
    accepted = {endpoint_of(leased) for leased, outcome in judged if outcome.state == DELIVERED}
    given_up: dict[Endpoint, GivenUp] = {}
    for leased, outcome in judged:
        if outcome.state == FAILED and not outcome.ends_subscription:
            endpoint = endpoint_of(leased)
            before = given_up.get(endpoint)
            given_up[endpoint] = GivenUp(1 if before is None else before.count + 1, _say_why(outcome))
    concerned = {each for each in (*accepted, *given_up) if each.number is not None}
    return Recorded(
        judged,
        note_outcomes(
            tx,
            accepted & concerned,
            {endpoint: given_up[endpoint] for endpoint in concerned if endpoint in given_up},
            switch_off_after,
        ),
    )


async def call_receiver(http: SafeHttp, due: DueDelivery, signer: Signer | None, now: datetime) -> Attempt:
    """Sends an event, in work that the HTTP client does; every failure is part of the result."""
    if signer is not None and signer.is_damaged:
        return Attempt(due, None, DAMAGED, 0.0, own_delays=signer.retry_delays)
    body = due.body.encode()
    headers = {"Content-Type": due.content_type, **signature_headers(due.uuid, now, body, secrets_of(signer, now))}
    delay_seconds = max((now - due.scheduled_on).total_seconds(), 0.0)
    signed, own_delays = schemes_of(headers), None if signer is None else signer.retry_delays
    started = time.monotonic()
    try:
        answer = await http.post_here(due.url, body, headers)
    except SendFailed as failure:
        seconds = time.monotonic() - started
        return Attempt(due, None, failure.sentence, seconds, delay_seconds, signed, own_delays)
    return Attempt(due, answer, None, answer.duration_seconds, delay_seconds, signed, own_delays)


def secrets_of(signer: Signer | None, now: datetime) -> Sequence[str]:
    """What signs a receiver's calls now."""
    return () if signer is None else signing_now(signer, now)


def judge(attempt: Attempt, now: datetime, chance: float, delays_seconds: Sequence[float]) -> AttemptOutcome:
    """The decision about a delivery after an attempt, by the retry rule: with the delays that its receiver asked for,
    or else with the first ones of the service, at most RETRIES."""
    answer, due, own = attempt.answer, attempt.delivery, attempt.own_delays
    decision = decide(
        attempt=due.attempt,
        status=None if answer is None else answer.status,
        now=now,
        chance=chance,
        delays_seconds=delays_seconds if own is None else own,
        most_retries=RETRIES if own is None else len(own),
        retry_after=None if answer is None else answer.headers.get("Retry-After"),
        is_subscriber=due.subscriber_id is not None,
    )
    return AttemptOutcome(
        state=STATES[decision.verdict],
        retry_at=decision.retry_at,
        status=None if answer is None else answer.status,
        error=attempt.error,
        answer=b"" if answer is None else answer.body,
        duration_seconds=attempt.duration_seconds,
        ends_subscription=decision.verdict is Verdict.GONE,
        delay_seconds=attempt.delay_seconds,
        signed=attempt.signed,
        answer_headers=None if answer is None else _kept_headers(answer),
    )


def interpret_reply(document: object, country: str = "") -> Reply | None:
    """The message in a parsed response; None if there is none or any part is invalid."""
    found = _interpret(document, country)
    return found if isinstance(found, Reply) else None


def send_reply(tx: Transaction, delivered: DueDelivery, answer: HttpResponse) -> list[int] | str:
    """Sends the message in a response, if there is one; returns the ids of the created messages, or why it is
    ignored.
    """
    workspace = find_workspace(tx, delivered.workspace_id)
    reply = None if workspace is None else read_answer(answer.body, workspace.country)
    if not isinstance(reply, Reply):
        return reply or []
    sent = send_event_reply(
        tx,
        delivered.workspace_id,
        reply.text,
        urns=reply.urns,
        contact_uuids=reply.contact_uuids,
        event_contact_id=delivered.contact_id,
        channel_id=delivered.channel_id,
    )
    return sent or f"{IGNORED}: there is no such contact."


def _read_receiver(name: str) -> tuple[int, str]:
    """The workspace and the receiver of a slot."""
    workspace_id, _, receiver = name.partition(" ")
    return int(workspace_id), receiver


def _attempt_of(finished: Call) -> Attempt:
    return finished.result or Attempt(finished.item[0], None, "The delivery failed inside the service.", 0.0)


def _with_reason(attempt: Attempt, outcome: AttemptOutcome) -> AttemptOutcome:
    """With the reason why a reply was ignored."""
    if outcome.state != DELIVERED or attempt.answer is None or not attempt.answer.body:
        return outcome
    reason = say_ignored(attempt.delivery, attempt.answer)
    return outcome if reason is None else replace(outcome, error=reason)


def _holds_message(attempt: Attempt) -> bool:
    answer = attempt.answer
    return answer is not None and 200 <= answer.status < 300 and may_be_answered(attempt.delivery, answer)
