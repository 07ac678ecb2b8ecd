"""How long sessions wait. It is read before the sessions are saved, because their rows contain it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from flows.engine import Event
from flows.moments import parse_moment

TYPES = ("msg_wait", "dial_wait")
LONGEST_SESSION = timedelta(days=30)


def read_ends(
    events: Sequence[Event], *, now: datetime, created_on: datetime
) -> tuple[datetime | None, datetime | None]:
    """When the wait at the end of a sprint times out (None: never) and when it expires, at most 30 days after the
    session began."""
    wait = next((event for event in reversed(events) if event["type"] in TYPES), {})
    timeout, expires_on = wait.get("timeout_seconds"), parse_moment(wait.get("expires_on") or "")
    longest = created_on + LONGEST_SESSION
    return now + timedelta(seconds=int(timeout)) if timeout else None, min(expires_on or longest, longest)
