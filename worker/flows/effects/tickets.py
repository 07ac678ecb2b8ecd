from collections.abc import Sequence

from sqlalchemy import select

from flows.engine import Event
from persistence.database import Transaction
from persistence.tables.accounts import user
from persistence.tables.tickets import topic
from persistence.tickets.actions import NewTicket, open_ticket
from persistence.workspaces import Workspace
from worker.flows.effects.audience import find_ids
from worker.flows.effects.event_flows import FlowReference


def open_tickets(
    tx: Transaction, workspace: Workspace, contact_id: int, events: Sequence[tuple[Event, FlowReference]]
) -> None:
    """Opens the tickets that a sprint opened, with their first notes."""
    notes = {event["ticket_uuid"]: event["note"] for event, _ in events if event["type"] == "ticket_note_added"}
    for event, flow in events:
        if event["type"] != "ticket_opened":
            continue
        opened = event["ticket"]
        topic_ids = find_ids(tx, workspace.id, topic, [opened["topic"]] if opened.get("topic") else [])
        assignee = opened.get("assignee") or {}
        new = NewTicket(
            contact_id,
            next(iter(topic_ids.values()), None),
            _find_user(tx, assignee.get("uuid")),
            notes.get(opened["uuid"]),
            flow=(flow["uuid"], flow["name"]),
            uuid=opened["uuid"],
        )
        open_ticket(tx, workspace, new)


def _find_user(tx: Transaction, uuid: str | None) -> int | None:
    return None if not uuid else tx.execute(select(user.c.id).where(user.c.uuid == uuid)).scalar_one_or_none()
