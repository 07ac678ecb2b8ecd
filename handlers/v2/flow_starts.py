"""`/api/v2/flow_starts.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page, created
from handlers.request import Call
from persistence.flow_starts.flow_starts import create_start
from persistence.flow_starts.form import read_form
from persistence.flow_starts.v2 import list_starts, read_start, starts_order
from persistence.sql.pages import Page, Position


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
