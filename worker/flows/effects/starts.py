from collections.abc import Sequence
from dataclasses import replace

from persistence.audience import find_audience
from persistence.contacts.writes import ContactChange, create_contact
from persistence.flow_starts.flow_starts import FLOW_ACTION, NewStart, create_start
from worker.flows.effects.effect import Recording
from worker.flows.sprints import SprintEvent

TYPES = ("session_triggered",)


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Creates the flow starts that flows request, if their flows exist."""
    tx, workspace = recording.tx, recording.workspace
    for event in (each.event for each in events):
        flow_id = recording.flow_ids.get(event["flow"]["uuid"])
        if flow_id is None:
            continue
        audience = find_audience(tx, workspace, event)
        if event.get("create_contact"):
            made = create_contact(tx, workspace, ContactChange())
            audience = replace(audience, contact_ids=[*audience.contact_ids, made])
        exclusions = event.get("exclusions") or {}
        new = NewStart(
            flow_id,
            FLOW_ACTION,
            audience,
            restart_participants=not exclusions.get("started_previously"),
            exclude_active=bool(exclusions.get("in_a_flow")),
            parent={"run_summary": event["run_summary"], "history": event["history"]},
        )
        create_start(tx, workspace.id, new)
