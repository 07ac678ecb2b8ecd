"""`/api/v2/flow_starts.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page, created
from handlers.calls import Call
from persistence.flow_starts import create_start
from persistence.pages import Page, Position
from persistence.start_form import read_form
from persistence.start_records import list_starts, read_start, starts_order


def list_flow_starts(
    call: Call,
    *,
    uuid: str | None = None,
    id: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    reverse: bool = False,
) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return list_starts(
            call.tx,
            workspace.id,
            position,
            size,
            uuid=uuid,
            reference=id,
            before=before,
            after=after,
            reverse=reverse,
        )

    return answer_page(call, starts_order(reverse=reverse), fetch)


def create_flow_start(call: Call) -> Answer:
    workspace = call.workspace
    form = read_form(call.tx, workspace, call.body, call.credentials.user_id)
    start_id = create_start(call.tx, workspace.id, form)
    return created(read_start(call.tx, workspace.id, start_id))
