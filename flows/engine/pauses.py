"""Pauses: waits that a message of the contact does not end, but a time or a callback from outside, our own addition to
the format (docs/flows.md). The host keeps the time, and gives and opens the addresses.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from flows.definition import Wait
from flows.engine.visit import Visit, expiration_minutes, to_plain
from flows.environment import write_moment
from flows.expressions.calendar_arithmetic import move_to
from flows.expressions.conversions import in_zone, read_document, stand_in, to_datetime, to_time
from flows.expressions.evaluation import Evaluation, ExpressionError
from flows.expressions.values import Value

TIME, CALLBACK = "time", "callback"
LONGEST_PAUSE = timedelta(days=90)
"""A later moment is an error: nobody remembers what a flow was about to say."""
_TIME_OF_DAY = re.compile(r"\d{1,2}(?::\d{2}){0,2}\s*(?:[ap]m)?", re.ASCII | re.IGNORECASE)


def begin_pause(visit: Visit, wait: Wait) -> bool:
    """Begins a pause and logs its event; returns whether the run now waits. It does not if the time is over already or
    cannot be read.
    """
    assert wait.pause is not None
    now, fields = visit.sprint.clock.now(), dict[str, Any]()
    ends_on = None
    if wait.pause.until:
        ends_on = _find_end(visit, wait.pause.until, now)
        if ends_on is None or ends_on <= now:
            return False
        fields["until"] = write_moment(ends_on)
    elif wait.timeout is not None:
        seconds = min(wait.timeout.seconds, int(LONGEST_PAUSE.total_seconds()))
        fields["timeout_seconds"], ends_on = seconds, now + timedelta(seconds=seconds)
    # The end of the wait itself comes first: a run expires only if that finds no way on.
    expiration = timedelta(minutes=expiration_minutes(visit.flow, visit.options.generation))
    if expiration:
        fields["expires_on"] = write_moment((ends_on or now) + expiration)
    visit.log.add(f"{wait.pause.ends_by}_wait", fields)
    visit.sprint.session.pause = wait.pause.ends_by
    return True


def read_callback(resume: Mapping[str, Any]) -> Any:
    """The JSON that a callback brought, as plain data; None if it brought none."""
    event = resume.get("event") or {}
    return to_plain(read_document(str((event.get(CALLBACK) or {}).get("body") or "")))


def _find_end(visit: Visit, template: str, now: datetime) -> datetime | None:
    """The moment that a template says: a moment, or the next time that a clock shows it. None, with an error event, for
    anything else."""
    result = visit.value(template)
    visit.log.report(result)
    evaluation = visit.evaluation()
    try:
        ends_on = _read_end(evaluation, result.value, now).astimezone(UTC)
        if ends_on - now <= LONGEST_PAUSE:
            return ends_on
        problem = f"is more than {LONGEST_PAUSE.days} days away"
    except (ExpressionError, OverflowError):
        problem = "is no time"
    visit.log.error(f"Can't wait until '{template}': that {problem}")
    return None


def _read_end(evaluation: Evaluation, value: Value, now: datetime) -> datetime:
    said = stand_in(value)
    if not isinstance(said, time) and not (isinstance(said, str) and _TIME_OF_DAY.fullmatch(said.strip())):
        return to_datetime(evaluation, said)
    local, hour = in_zone(evaluation, now), to_time(evaluation, said)
    today = move_to(local, local.date(), hour)
    return today if today > local else move_to(local, local.date() + timedelta(days=1), hour)
