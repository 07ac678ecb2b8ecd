"""One attempt to deliver an event: the signed request, and whether the event is accepted, tried again or given up."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum

from persistence.deliveries.hiding import hide_in_url
from persistence.deliveries.leases import AttemptOutcome, DueDelivery
from persistence.deliveries.signers import Signer
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING
from worker.http.errors import SendFailed
from worker.http.safe_http import HttpResponse, SafeHttp
from worker.webhooks.signing import schemes_of, signature_headers, signing_now

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


class Verdict(Enum):
    DELIVERED = "delivered"
    RETRY = "retry"
    FAILED = "failed"
    GONE = "gone"


STATES = {Verdict.DELIVERED: DELIVERED, Verdict.RETRY: PENDING, Verdict.FAILED: FAILED, Verdict.GONE: FAILED}


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


async def call_receiver(http: SafeHttp, due: DueDelivery, signer: Signer | None, now: datetime) -> Attempt:
    """Sends an event, in work that the HTTP client does; every failure is part of the result."""
    if signer is not None and signer.is_damaged:
        return Attempt(due, None, DAMAGED, 0.0, own_delays=signer.retry_delays)
    headers = {"Content-Type": due.content_type, **signature_headers(due.uuid, now, due.body, secrets_of(signer, now))}
    delay_seconds = max((now - due.scheduled_on).total_seconds(), 0.0)
    signed, own_delays = schemes_of(headers), None if signer is None else signer.retry_delays
    started = time.monotonic()
    try:
        answer = await http.post_here(due.url, due.body, headers)
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


def _kept_headers(answer: HttpResponse) -> dict[str, str]:
    found = ((name, answer.headers.get(name)) for name in KEPT_HEADERS)
    # PostgreSQL stores no NUL.
    kept = ((name, value.replace("\0", "\N{REPLACEMENT CHARACTER}")[:HEADER_LENGTH]) for name, value in found if value)
    return {name: hide_in_url(value) for name, value in kept}


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
    asked_seconds = _read_retry_after(retry_after, now) if status in WAITING_STATUSES else None
    if asked_seconds is None:
        delay_seconds = delays_seconds[attempt - 1] * (1 - JITTER + 2 * JITTER * chance)
    else:
        # Never earlier than requested, and not all at the same time.
        bounded_seconds = min(max(asked_seconds, RETRY_AFTER_MIN_SECONDS), RETRY_AFTER_MAX_SECONDS)
        delay_seconds = bounded_seconds * (1 + JITTER * chance)
    return Decision(Verdict.RETRY, now + timedelta(seconds=delay_seconds))


def _read_retry_after(value: str | None, now: datetime) -> float | None:
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
