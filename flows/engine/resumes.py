"""Resumes, which continue sessions (flow format, resuming)."""

from collections.abc import Mapping
from typing import Any

from flows.engine.contact import Contact
from flows.engine.errors import ContactError, ResumeError
from flows.engine.input_schemas import RESUME
from flows.engine.messages_in import receive_message
from flows.engine.schemas import find_mismatch
from flows.engine.sprint import Sprint
from flows.engine.state import EXPIRED, Run
from flows.environment import Environment, EnvironmentSettingError, is_timezone

RESUME_TYPES = ("msg", "dial", "wait_timeout", "wait_expiration")
DIAL_STATUSES = ("answered", "no_answer", "busy", "failed")
_EARLY_NAMES = {"run_expiration": "wait_expiration"}


def read_resume(resume: Mapping[str, Any]) -> dict[str, Any]:
    """Checks a resume against its schema and converts older names; raises ResumeError."""
    if not isinstance(resume, Mapping):
        raise ResumeError("a resume is an object")
    mismatch = find_mismatch(resume, RESUME)
    if mismatch:
        raise ResumeError(f"field '{mismatch}' is missing or of another type")
    kind = _EARLY_NAMES.get(str(resume.get("type")), resume.get("type"))
    if kind not in RESUME_TYPES:
        raise ResumeError(f"{kind!r} is not a type of resume")
    part = (resume.get("event") or {}).get(kind) or resume.get(kind)
    if kind in ("msg", "dial") and not isinstance(part, Mapping):
        raise ResumeError(f"field 'event.{kind}' is required")
    if kind == "dial" and isinstance(part, Mapping) and part.get("status") not in DIAL_STATUSES:
        raise ResumeError(f"{part.get('status')!r} is not how a call can end")
    return {**resume, "type": kind}


def apply_resume(sprint: Sprint, run: Run) -> None:
    """Applies a resume before the waiting node is left."""
    assert sprint.resume is not None
    _refresh(sprint, sprint.resume)
    kind = sprint.resume["type"]
    if kind == "msg":
        receive_message(sprint, sprint.resume, str(sprint.resume.get("resumed_on") or ""))
        run.had_input = True
    else:
        sprint.session.input = None
    if kind == "wait_expiration":
        if sprint.options.is_early:
            sprint.log.add("run_expired", {"run_uuid": run.uuid})
        sprint.end_run(run, EXPIRED)
    elif sprint.options.is_early and kind == "wait_timeout":
        sprint.log.add("wait_timed_out")
    elif sprint.options.is_early and kind == "dial":
        dial = (sprint.resume.get("event") or {}).get("dial") or sprint.resume["dial"]
        sprint.log.add("dial_ended", {"dial": dict(dial)})


def _refresh(sprint: Sprint, resume: Mapping[str, Any]) -> None:
    # In generation 13 hosts send data that may have changed meanwhile with the resume.
    session = sprint.session
    try:
        environment = Environment.from_json(resume["environment"]) if resume.get("environment") else None
        contact = Contact.from_json(resume["contact"]) if resume.get("contact") else None
    except (ContactError, EnvironmentSettingError) as error:
        raise ResumeError(f"resume cannot be read: {error}") from error
    if environment is not None and not is_timezone(environment.timezone):
        raise ResumeError(f"{environment.timezone!r} is not a timezone")
    if environment is not None and environment != session.environment:
        session.environment = environment
        sprint.log.add("environment_refreshed", {"environment": environment.to_json()})
    if contact is not None and contact != session.contact:
        session.contact = contact
        sprint.log.add("contact_refreshed", {"contact": contact.to_json()})
    sprint.forget_environment()
