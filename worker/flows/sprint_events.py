"""The events of sprints, each with its contact and its flow."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flows.engine import Event, Session

FlowReference = Mapping[str, Any]


class SprintEvent(NamedTuple):
    """An event, the contact and the session of its sprint, and the flow by UUID and name. `is_bulk` events happened
    because the flow was started for many contacts, not because the contact wrote. `automatic` says what causes their
    messages (`persistence.messages.circles`).
    """

    event: Event
    contact_id: int
    session: Session
    flow: FlowReference
    is_bulk: bool
    automatic: int


def first_flow(session: Session, state: Mapping[str, Any] | None) -> FlowReference:
    """The flow in which a sprint begins: the one that waited, or the one that was started."""
    for run in (state or {}).get("runs") or ():
        if run["status"] == "waiting":
            flow: FlowReference = run["flow"]
            return flow
    return session.runs[0].flow if session.runs else {}


def flows_of_events(
    session: Session, state: Mapping[str, Any] | None, events: Sequence[Event]
) -> Iterator[tuple[Event, FlowReference]]:
    """Each event with its flow; `state` is the session before the sprint, None for a start. After the end of a run its
    parent continues.
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
