"""In which flow each event of a sprint happened."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flows.engine import Event, Session

FlowReference = Mapping[str, Any]


def first_flow(session: Session, state: Mapping[str, Any] | None) -> FlowReference:
    """The flow that a sprint begins in: the one that waited, or the one that was started."""
    for run in (state or {}).get("runs") or ():
        if run["status"] == "waiting":
            flow: FlowReference = run["flow"]
            return flow
    return session.runs[0].flow if session.runs else {}


def flows_of_events(
    session: Session, state: Mapping[str, Any] | None, events: Sequence[Event]
) -> Iterator[tuple[Event, FlowReference]]:
    """Each event with the flow it happened in; `state` is the session before the sprint, None for a start.

    A run that ends gives way to its parent.
    """
    flow_of = {run.uuid: run.flow for run in session.runs}
    parent_of = {run.uuid: run.parent_uuid for run in session.runs}
    current = first_flow(session, state)
    for event in events:
        if event["type"] == "run_started":
            current = event["flow"]
        yield event, current
        if event["type"] == "run_ended":
            current = flow_of.get(parent_of.get(event["run_uuid"], ""), current)
