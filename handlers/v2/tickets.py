"""`/api/v2/tickets.json`."""

from handlers.answers import Answer, ListAnswer, created_record
from handlers.request import Request
from persistence.contacts.owners import find_contacts
from persistence.errors import InvalidInput
from persistence.sql.names import must_exist
from persistence.tickets.actions import NewTicket, open_ticket
from persistence.tickets.assignees import find_assignee
from persistence.tickets.tickets import TICKETS
from persistence.topics import find_topic

list_tickets = ListAnswer(TICKETS)


def create_ticket(request: Request) -> Answer:
    tx, workspace, body = request.tx, request.workspace, request.body
    (contact_id,) = find_contacts(tx, workspace, [body["contact"]], field="contact")
    topic, email = body.get("topic"), body.get("assignee")
    new = NewTicket(
        contact_id,
        topic_id=must_exist(find_topic(tx, workspace.id, topic), "topic", topic) if topic else None,
        assignee_id=find_assignee(tx, workspace.id, email) if email else None,
        note=(body.get("note") or "").strip() or None,
        opened_by_id=request.credentials.user_id,
    )
    ticket_id = open_ticket(tx, workspace, new)
    if ticket_id is None:
        raise InvalidInput.on("contact", "This contact has an open ticket already.")
    return created_record(request, TICKETS, ticket_id)
