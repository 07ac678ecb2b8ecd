"""`/api/v2/broadcasts.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page, created
from handlers.request import Request
from persistence.broadcasts import v2 as broadcasts
from persistence.broadcasts.form import read_form
from persistence.sql.pages import Page, Position


def list_broadcasts(
    request: Request,
    *,
    id: int | None = None,
    uuid: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Answer:
    workspace = request.workspace
    masked = workspace.is_anonymous

    def fetch(position: Position | None, size: int) -> Page:
        return broadcasts.list_broadcasts(
            request.tx,
            workspace.id,
            position,
            size,
            broadcast_id=id,
            uuid=uuid,
            before=before,
            after=after,
            masked=masked,
        )

    return answer_page(request, broadcasts.BROADCASTS_ORDER, fetch)


def create_broadcast(request: Request) -> Answer:
    workspace = request.workspace
    broadcast_id = broadcasts.create_broadcast(request.tx, workspace.id, read_form(request.tx, workspace, request.body))
    return created(broadcasts.read_broadcast(request.tx, workspace.id, broadcast_id, masked=workspace.is_anonymous))
