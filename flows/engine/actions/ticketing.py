"""The action that opens a ticket (flow format, open_ticket)."""

from __future__ import annotations

from flows.definition import Action
from flows.engine.actions.changes import change_contact
from flows.engine.actions.references import find_asset, find_user
from flows.engine.actions.results import FAILURE, SUCCESS
from flows.engine.contact import Ticket
from flows.engine.modifiers import tickets
from flows.engine.modifiers.editor import ContactEditor
from flows.engine.visit import Visit

NEW_TICKET_LOCAL = "_new_ticket"


def open_ticket(visit: Visit, action: Action) -> None:
    """Opens a ticket unless the contact has an open one; its UUID is left in a local variable (14) or result (13)."""
    ticket = _open(visit, action)
    uuid = ticket.uuid if ticket else ""
    if not visit.options.is_early:
        visit.run.locals[NEW_TICKET_LOCAL] = uuid
    elif action.fields.get("result_name"):
        visit.save_result(action.fields["result_name"], uuid, SUCCESS if uuid else FAILURE)


def _open(visit: Visit, action: Action) -> Ticket | None:
    assets = visit.sprint.assets
    note = visit.text(action.fields.get("note") or action.fields.get("body") or "")
    if visit.sprint.session.is_batch:
        visit.log.error("Can't open tickets during batch starts")
        return None
    reference = action.fields.get("topic")
    topic = find_asset(visit, "topic", assets.topics, reference) if reference else assets.find_default_topic()
    if reference and topic is None:
        return None
    user = find_user(visit, action.fields.get("assignee"))
    opened: list[Ticket] = []

    def change(editor: ContactEditor) -> bool:
        ticket = tickets.open_ticket(editor, topic, user, note)
        opened.extend([ticket] if ticket else [])
        return bool(opened)

    change_contact(visit, change)
    return opened[0] if opened else None
