from collections.abc import Mapping, Sequence

from flows.engine import Event
from persistence.contacts.writes import ContactChange, create_contact
from persistence.database import Transaction
from persistence.flow_starts.flow_starts import FLOW_ACTION, NewStart, create_start
from persistence.workspaces import Workspace
from worker.flows.effects.audience import find_audience


def start_others(tx: Transaction, workspace: Workspace, flow_ids: Mapping[str, int], events: Sequence[Event]) -> None:
    """Accepts the starts that flows ask for."""
    for event in events:
        flow_id = flow_ids.get(event["flow"]["uuid"]) if event["type"] == "session_triggered" else None
        if flow_id is None:
            continue
        chosen = find_audience(tx, workspace, event)
        created = [create_contact(tx, workspace, ContactChange())] if event.get("create_contact") else []
        exclusions = event.get("exclusions") or {}
        new = NewStart(
            flow_id,
            FLOW_ACTION,
            [*chosen.contact_ids, *created],
            chosen.address_ids,
            chosen.group_ids,
            event.get("contact_query") or None,
            restart_participants=not exclusions.get("started_previously"),
            exclude_active=bool(exclusions.get("in_a_flow")),
            parent={"run_summary": event["run_summary"], "history": event["history"]},
        )
        create_start(tx, workspace.id, new)
