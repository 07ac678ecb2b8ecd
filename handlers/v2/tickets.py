"""`/api/v2/tickets.json`."""

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence.sql.pages import Page, Position
from persistence.tickets import tickets


def list_tickets(call: Call, *, uuid: str | None = None, contact: str | None = None, reverse: bool = False) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return tickets.list_tickets(
            call.tx, workspace.id, position, size, uuid=uuid, contact_uuid=contact, reverse=reverse
        )

    return answer_page(call, tickets.tickets_order(reverse=reverse), fetch)
