"""Opens and changes the tickets of a contact (flow format, open_ticket)."""

from collections.abc import Callable
from dataclasses import replace

from flows.engine.assets import Topic, User
from flows.engine.contact import Ticket
from flows.engine.modifiers.editor import ContactEditor


def open_ticket(editor: ContactEditor, topic: Topic | None, assignee: User | None, note: str) -> Ticket | None:
    """Opens a ticket unless one is open already; returns the ticket. In generation 13 the note is the ticket's body."""
    if editor.contact.open_tickets:
        return None
    is_early = editor.options.is_early
    ticket = Ticket(
        editor.clock.uuid(),
        topic=topic.reference if topic else None,
        assignee=_refer(assignee, is_early=is_early) if assignee else None,
        body=note if is_early else "",
    )
    editor.contact.tickets.append(ticket)
    # In generation 13 all tickets of a session are open.
    unsaid = ("status",) if is_early else ()
    written = {name: part for name, part in ticket.to_json().items() if name not in unsaid}
    editor.log.add("ticket_opened", {"ticket": written})
    if note and not is_early:
        editor.log.add("ticket_note_added", {"ticket_uuid": ticket.uuid, "note": note})
    return ticket


def add_note(editor: ContactEditor, ticket_uuid: str, note: str) -> bool:
    """Adds a note; returns whether there is such a ticket."""
    if not any(ticket.uuid == ticket_uuid for ticket in editor.contact.tickets):
        return False
    editor.log.add("ticket_note_added", {"ticket_uuid": ticket_uuid, "note": note})
    return True


def close_ticket(editor: ContactEditor, ticket_uuid: str) -> bool:
    """Closes an open ticket; returns whether it was open."""
    changed = _change(editor, ticket_uuid, lambda ticket: replace(ticket, status="closed"))
    if changed:
        editor.log.add("ticket_closed", {"ticket_uuid": ticket_uuid})
    return changed


def reopen_ticket(editor: ContactEditor, ticket_uuid: str) -> bool:
    """Opens a closed ticket again unless another one is open; returns whether it did."""
    if editor.contact.open_tickets:
        return False
    changed = _change(editor, ticket_uuid, lambda ticket: replace(ticket, status="open"))
    if changed:
        editor.log.add("ticket_reopened", {"ticket_uuid": ticket_uuid})
    return changed


def assign_ticket(editor: ContactEditor, ticket_uuid: str, assignee: User | None) -> bool:
    """Assigns a ticket to a user, or to nobody; returns whether that changed anything. The event contains the
    previous assignee."""
    reference = assignee.reference if assignee else None
    previous = next((ticket.assignee for ticket in editor.contact.tickets if ticket.uuid == ticket_uuid), None)
    changed = _change(editor, ticket_uuid, lambda ticket: replace(ticket, assignee=reference))
    if changed:
        fields = {"ticket_uuid": ticket_uuid, "assignee": reference}
        editor.log.add("ticket_assignee_changed", {**fields, "prev_assignee": dict(previous)} if previous else fields)
    return changed


def change_ticket_topic(editor: ContactEditor, ticket_uuid: str, topic: Topic) -> bool:
    """Changes the topic of a ticket; returns whether that changed anything."""
    changed = _change(editor, ticket_uuid, lambda ticket: replace(ticket, topic=topic.reference))
    if changed:
        editor.log.add("ticket_topic_changed", {"ticket_uuid": ticket_uuid, "topic": topic.reference})
    return changed


def _refer(user: User, *, is_early: bool) -> dict[str, str]:
    return {"email": user.email, "name": user.name} if is_early else user.reference


def _change(editor: ContactEditor, ticket_uuid: str, change: Callable[[Ticket], Ticket]) -> bool:
    for index, ticket in enumerate(editor.contact.tickets):
        if ticket.uuid == ticket_uuid:
            editor.contact.tickets[index] = change(ticket)
            return editor.contact.tickets[index] != ticket
    return False
