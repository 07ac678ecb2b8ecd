"""When and how a run waits, and what ends a wait (flow format, waits)."""

from datetime import timedelta
from typing import Any

from flows.definition import Flow, Wait
from flows.definition.steps_14 import LONGEST_EXPIRATIONS_MINUTES
from flows.engine.visit import Visit
from flows.moments import write_moment
from flows.phones import parse_phone

DIAL = "dial"
BACKGROUND = "messaging_background"
DIAL_LIMIT_SECONDS = 60
CALL_LIMIT_SECONDS = 7200
DIAL_GRACE_SECONDS = 30
MINUTES_PER_DAY = 24 * 60
_DEFAULT_EXPIRATION_MINUTES = {"messaging": 3 * MINUTES_PER_DAY, "voice": 5}


def begin_wait(visit: Visit, wait: Wait) -> bool:
    """Begins a wait and logs its event; returns whether the run now waits."""
    if visit.flow.type == BACKGROUND:
        return False
    return _begin_dial(visit, wait) if wait.type == DIAL else _begin_msg(visit, wait)


def expiration_minutes(flow: Flow, generation: int) -> int:
    """How long a wait of a flow lasts at most; 0 without a limit, which in generation 14 only offline flows can
    have."""
    minutes = flow.expire_after_minutes
    if generation < 14:
        return minutes
    longest = LONGEST_EXPIRATIONS_MINUTES.get(flow.type, 0)
    return min(minutes, longest) if minutes > 0 else _DEFAULT_EXPIRATION_MINUTES.get(flow.type, 0)


def accepts(wait: Wait, resume_type: str) -> bool:
    """Whether a resume of that type can end a wait."""
    if wait.type == DIAL:
        return resume_type == "dial"
    if resume_type == "wait_timeout":
        return wait.timeout is not None
    return resume_type in ("msg", "wait_expiration")


def _begin_msg(visit: Visit, wait: Wait) -> bool:
    if _is_answered(visit):
        return False
    fields: dict[str, Any] = {}
    if wait.timeout is not None:
        fields["timeout_seconds"] = wait.timeout.seconds
    minutes = expiration_minutes(visit.flow, visit.options.generation)
    if minutes:
        fields["expires_on"] = _after(visit, minutes * 60)
    if wait.hint:
        fields["hint"] = dict(wait.hint)
    visit.log.add("msg_wait", fields)
    return True


def _is_answered(visit: Visit) -> bool:
    # The message that started the flow answers its first question.
    session = visit.sprint.session
    return session.trigger.get("type") == "msg" and len(session.runs) == 1 and len(visit.run.path) == 1


def _begin_dial(visit: Visit, wait: Wait) -> bool:
    number = visit.text(wait.phone)
    phone = parse_phone(number.strip().removeprefix("tel:"), visit.sprint.environment.default_country)
    if not phone:
        visit.log.error(f"Can't dial '{number}' as it's not a possible phone number")
        return False
    dial_limit = wait.dial_limit_seconds or DIAL_LIMIT_SECONDS
    call_limit = wait.call_limit_seconds or CALL_LIMIT_SECONDS
    fields = {
        "urn": f"tel:{phone}",
        "dial_limit_seconds": dial_limit,
        "call_limit_seconds": call_limit,
        "expires_on": _after(visit, dial_limit + call_limit + DIAL_GRACE_SECONDS),
    }
    visit.log.add("dial_wait", fields)
    return True


def _after(visit: Visit, seconds: int) -> str:
    return write_moment(visit.sprint.clock.now() + timedelta(seconds=seconds))
