"""Starts a flow for others (flow format, start_session)."""

from typing import Any

from flows.definition import Action
from flows.definition.action_types import NOT_OFFLINE, action_type
from flows.definition.fields import NAME_LENGTH, RECIPIENTS, Field, asked, boolean, reference, unchecked
from flows.engine.recipients import resolve_recipients
from flows.engine.state import Run, Session
from flows.engine.visit import Visit


@action_type(
    {
        **RECIPIENTS,
        "flow": reference("flow", NAME_LENGTH, required=True),
        "create_contact": asked(boolean(), is_more=True),
        "exclusions": asked(Field(unchecked), "flags", choices=("in_a_flow",), is_more=True),
    },
    allowed_in=NOT_OFFLINE,
    drawn="Start others in {flow}",
    palette="flow",
)
def start_session(visit: Visit, action: Action) -> None:
    """Asks the host to start a flow for others, or for a new contact."""
    given = action.fields["flow"]
    recipients = resolve_recipients(visit, action)
    flow = visit.sprint.assets.find_readable_flow(given["uuid"])
    if flow is None:
        visit.log.missing_dependency("flow", given)
        return
    session = visit.sprint.session
    if session.is_batch and recipients.is_open:
        visit.log.error("Can't start new sessions for groups or queries during batch starts")
        return
    if _count_since_input(session) >= visit.options.ancestors_since_input:
        visit.log.error("Too many sessions have been spawned since the last time input was received")
        return
    creates = bool(action.fields.get("create_contact"))
    if recipients.is_empty and not creates:
        return
    fields: dict[str, Any] = {"flow": {"uuid": flow.uuid, "name": flow.name}, **recipients.to_json()}
    if creates:
        fields["create_contact"] = True
    fields["exclusions"] = dict(action.fields.get("exclusions") or {})
    fields["run_summary"] = summarize(visit.run, session)
    fields["history"] = _next_history(session)
    visit.log.add("session_triggered", fields)


def summarize(run: Run, session: Session) -> dict[str, Any]:
    """The data of the starting run that a started session can read."""
    return {
        "uuid": run.uuid,
        "flow": dict(run.flow),
        "contact": {name: part for name, part in session.contact.to_json().items() if name != "tickets"},
        "status": run.status,
        "results": {key: result.to_json() for key, result in run.results.items()},
    }


def _count_since_input(session: Session) -> int:
    """How many sessions led to this one since a contact last sent something; each input resets it to zero."""
    had_input = any(run.had_input for run in session.runs)
    return 0 if had_input else int((session.trigger.get("history") or {}).get("ancestors_since_input") or 0)


def _next_history(session: Session) -> dict[str, Any]:
    had_input = any(run.had_input for run in session.runs)
    return {
        "parent_uuid": session.uuid,
        "ancestors": int((session.trigger.get("history") or {}).get("ancestors") or 0) + 1,
        "ancestors_since_input": 0 if had_input else _count_since_input(session) + 1,
    }
