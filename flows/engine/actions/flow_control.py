"""Actions that enter flows and start them for others (flow format, flow control)."""

from __future__ import annotations

from typing import Any

from flows.definition import Action, Flow
from flows.engine.actions.recipients import resolve_recipients
from flows.engine.sprint import PushedFlow
from flows.engine.state import Run, Session
from flows.engine.visit import Visit
from flows.engine.wait import BACKGROUND


def enter_flow(visit: Visit, action: Action) -> None:
    """Pushes a flow, which starts when the node's actions are done; failing to find it fails the session."""
    reference = action.fields["flow"]
    flow = visit.sprint.assets.find_readable_flow(reference["uuid"])
    if flow is None:
        visit.sprint.fail(visit.run, f"Unable to find flow '{reference.get('name', '')}'")
        return
    session_type = visit.sprint.session.type
    if flow.type not in (session_type, BACKGROUND):
        described = f"flow[uuid={flow.uuid},name={flow.name}]"
        visit.sprint.fail(visit.run, f"Can't enter {described} of type {flow.type} from type {session_type}")
        return
    is_terminal = bool(action.fields.get("terminal"))
    visit.sprint.pushed = PushedFlow(flow, is_terminal)
    if visit.options.is_early:
        entered = {"flow": {"uuid": flow.uuid, "name": flow.name}, "parent_run_uuid": visit.run.uuid}
        visit.log.add("flow_entered", {**entered, "terminal": is_terminal})


def start_session(visit: Visit, action: Action) -> None:
    """Asks the host to start a flow for others, or for a new contact."""
    reference = action.fields["flow"]
    recipients = resolve_recipients(visit, action)
    flow = visit.sprint.assets.find_readable_flow(reference["uuid"])
    if flow is None:
        visit.log.missing_dependency("flow", reference)
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
    fields: dict[str, Any] = {"flow": _refer(flow), **recipients.to_json()}
    if creates:
        fields["create_contact"] = True
    if action.fields.get("exclusions") is not None or not visit.options.is_early:
        fields["exclusions"] = dict(action.fields.get("exclusions") or {})
    fields["run_summary"] = summarize(visit.run, session)
    fields["history"] = _next_history(session)
    visit.log.add("session_triggered", fields)


def summarize(run: Run, session: Session) -> dict[str, Any]:
    """What a started session can see of the run that started it."""
    return {
        "uuid": run.uuid,
        "flow": dict(run.flow),
        "contact": session.contact.to_json(),
        "status": run.status,
        "results": {key: result.to_json() for key, result in run.results.items()},
    }


def _refer(flow: Flow) -> dict[str, str]:
    return {"uuid": flow.uuid, "name": flow.name}


def _had_input(session: Session) -> bool:
    return any(run.had_input for run in session.runs)


def _count_since_input(session: Session) -> int:
    """How many sessions led to this one since a person last said something; it counts anew from each input."""
    history = session.trigger.get("history") or {}
    return 0 if _had_input(session) else int(history.get("ancestors_since_input") or 0)


def _next_history(session: Session) -> dict[str, Any]:
    history = session.trigger.get("history") or {}
    return {
        "parent_uuid": session.uuid,
        "ancestors": int(history.get("ancestors") or 0) + 1,
        "ancestors_since_input": 0 if _had_input(session) else _count_since_input(session) + 1,
    }
