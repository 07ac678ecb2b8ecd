"""One attempt to deliver an event: the signed request, and what its answer means for the delivery."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from persistence.deliveries.leases import AttemptOutcome, DueDelivery
from persistence.deliveries.signers import Signer
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING
from worker.http.errors import SendFailed
from worker.http.safe_http import HttpResponse, SafeHttp
from worker.webhooks.retry_rule import Verdict, decide
from worker.webhooks.signing import secrets_in_force, signature_headers

STATES = {Verdict.DELIVERED: DELIVERED, Verdict.RETRY: PENDING, Verdict.FAILED: FAILED, Verdict.GONE: FAILED}

DAMAGED = "The secret that signs this event cannot be decrypted; set a new one."


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of calling a receiver: its answer, or the sentence that says why there is none."""

    delivery: DueDelivery
    answer: HttpResponse | None
    error: str | None
    duration_seconds: float
    delay_seconds: float = 0.0


def call_receiver(http: SafeHttp, due: DueDelivery, signer: Signer | None, now: datetime) -> Attempt:
    """Sends an event; every failure is part of the result."""
    if signer is not None and signer.is_damaged:
        return Attempt(due, None, DAMAGED, 0.0)
    headers = {"Content-Type": due.content_type, **signature_headers(due.uuid, now, due.body, secrets_of(signer, now))}
    delay_seconds = max((now - due.scheduled_on).total_seconds(), 0.0)
    started = time.monotonic()
    try:
        answer = http.post(due.url, due.body, headers)
    except SendFailed as failure:
        return Attempt(due, None, failure.sentence, time.monotonic() - started, delay_seconds)
    return Attempt(due, answer, None, answer.duration_seconds, delay_seconds)


def secrets_of(signer: Signer | None, now: datetime) -> Sequence[str]:
    """What a receiver's calls are signed with now."""
    return () if signer is None else secrets_in_force(signer.secret, signer.previous_secret, signer.rotated_on, now)


def judge(attempt: Attempt, now: datetime, chance: float, delays_seconds: Sequence[float]) -> AttemptOutcome:
    """What an attempt means for its delivery, by the retry rule."""
    answer, due = attempt.answer, attempt.delivery
    decision = decide(
        attempt=due.attempt,
        status=None if answer is None else answer.status,
        now=now,
        chance=chance,
        delays_seconds=delays_seconds,
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
    )
