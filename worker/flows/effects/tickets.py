from collections.abc import Sequence

from persistence.tickets.actions import NewTicket, open_ticket
from persistence.tickets.assignees import find_assignee_of_flow
from persistence.topics import find_topic
from worker.flows.effects.effect import Recording
from worker.flows.sprints import SprintEvent

OPENED, NOTE_ADDED = "ticket_opened", "ticket_note_added"
TYPES = (OPENED, NOTE_ADDED)


def carry_out(recording: Recording, events: Sequence[SprintEvent]) -> None:
    """Opens the tickets of flows, with their first notes."""
    tx, workspace = recording.tx, recording.workspace
    notes = {each.event["ticket_uuid"]: each.event["note"] for each in events if each.event["type"] == NOTE_ADDED}
    for each in events:
        if each.event["type"] != OPENED:
            continue
        opened = each.event["ticket"]
        topic, assignee = opened.get("topic"), (opened.get("assignee") or {}).get("uuid")
        new = NewTicket(
            each.contact_id,
            find_topic(tx, workspace.id, topic["uuid"]) if topic else None,
            find_assignee_of_flow(tx, workspace.id, assignee) if assignee else None,
            notes.get(opened["uuid"]),
            flow=(each.flow["uuid"], each.flow["name"]),
            uuid=opened["uuid"],
        )
        open_ticket(tx, workspace, new)
