"""`/api/v2/flow_starts.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page, created
from handlers.request import Request
from persistence.flow_starts.flow_starts import create_start
from persistence.flow_starts.form import read_form
from persistence.flow_starts.v2 import list_starts, read_start, starts_order
from persistence.sql.pages import Page, Position


def list_flow_starts(
    request: Request,
    *,
    uuid: str | None = None,
    id: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    reverse: bool = False,
) -> Answer:
    workspace = request.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return list_starts(
            request.tx,
            workspace.id,
            position,
            size,
            uuid=uuid,
            reference=id,
            before=before,
            after=after,
            reverse=reverse,
        )

    return answer_page(request, starts_order(reverse=reverse), fetch)


def create_flow_start(request: Request) -> Answer:
    workspace = request.workspace
    form = read_form(request.tx, workspace, request.body, request.credentials.user_id)
    start_id = create_start(request.tx, workspace.id, form)
    return created(read_start(request.tx, workspace.id, start_id))
