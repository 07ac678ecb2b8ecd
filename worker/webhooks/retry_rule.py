"""When a delivery is accepted, tried again or given up: a pure rule over one attempt's outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum

RETRIES = 3
"""Events, receiver response rules: delivery is retried up to three times."""
JITTER = 0.2
RETRY_AFTER_MIN_SECONDS = 1.0
RETRY_AFTER_MAX_SECONDS = 3600.0
GONE_STATUS = 410
WAITING_STATUSES = (429, 503)


class Verdict(Enum):
    DELIVERED = "delivered"
    RETRY = "retry"
    FAILED = "failed"
    GONE = "gone"


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
    retry_after: str | None = None,
    is_subscriber: bool = False,
) -> Decision:
    """What follows from one attempt.

    `attempt` counts from 1, `status` is None when no answer came, `chance` lies in [0, 1), `retry_after` is the header
    of that name. With delays of 10, 120 and 900 seconds and `chance` 0.5, attempts that fail at 0:00 are repeated at
    0:10, 2:10 and 17:10 and then given up; other chances move each delay by up to a fifth.

    2xx accepts. Everything else is tried again, redirects included, which are never followed. 410 ends a subscription;
    the delivery URL of a channel belongs to its owner, so there it is a failure like others. 429 and 503 may ask for a
    delay by `Retry-After`, in seconds or as a date, which is kept to between a second and an hour.
    """
    if status is not None and 200 <= status < 300:
        return Decision(Verdict.DELIVERED)
    if status == GONE_STATUS and is_subscriber:
        return Decision(Verdict.GONE)
    if attempt > min(RETRIES, len(delays_seconds)):
        return Decision(Verdict.FAILED)
    asked_seconds = _read_retry_after(retry_after, now) if status in WAITING_STATUSES else None
    if asked_seconds is None:
        delay_seconds = delays_seconds[attempt - 1] * (1 - JITTER + 2 * JITTER * chance)
    else:
        # Never earlier than asked, and not all of them at the same moment.
        bounded_seconds = min(max(asked_seconds, RETRY_AFTER_MIN_SECONDS), RETRY_AFTER_MAX_SECONDS)
        delay_seconds = bounded_seconds * (1 + JITTER * chance)
    return Decision(Verdict.RETRY, now + timedelta(seconds=delay_seconds))


def _read_retry_after(value: str | None, now: datetime) -> float | None:
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
