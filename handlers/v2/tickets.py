"""`/api/v2/tickets.json`."""

from handlers.answers import Answer, answer_page
from handlers.request import Request
from persistence.sql.pages import Page, Position
from persistence.tickets import tickets


def list_tickets(
    request: Request, *, uuid: str | None = None, contact: str | None = None, reverse: bool = False
) -> Answer:
    workspace = request.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return tickets.list_tickets(
            request.tx, workspace.id, position, size, uuid=uuid, contact_uuid=contact, reverse=reverse
        )

    return answer_page(request, tickets.tickets_order(reverse=reverse), fetch)
