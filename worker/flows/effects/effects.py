"""What flows cause beyond their contact: tickets, labels, broadcasts, starts, resthook events, flow events."""

from collections.abc import Mapping, Sequence

from flows.engine import Event
from persistence.database import Transaction
from persistence.workspaces import Workspace
from worker.flows.effects.broadcasts import create_broadcasts
from worker.flows.effects.event_flows import FlowReference
from worker.flows.effects.flow_events import record_flow_events
from worker.flows.effects.resthooks import record_resthooks
from worker.flows.effects.starts import start_others
from worker.flows.effects.tickets import open_tickets


def carry_out(
    tx: Transaction,
    workspace: Workspace,
    contact_id: int,
    events_in_flows: Sequence[tuple[Event, FlowReference]],
    flow_ids: Mapping[str, int],
) -> None:
    """Everything of one sprint in its order; each event comes with the flow it happened in."""
    events = [event for event, _ in events_in_flows]
    kinds = {event["type"] for event in events}
    if "ticket_opened" in kinds:
        open_tickets(tx, workspace, contact_id, events_in_flows)
    if "broadcast_created" in kinds:
        create_broadcasts(tx, workspace, events)
    if "session_triggered" in kinds:
        start_others(tx, workspace, flow_ids, events)
    if "resthook_called" in kinds:
        record_resthooks(tx, workspace.id, events)
    if "flow_event_made" in kinds:
        record_flow_events(tx, workspace, contact_id, events)
