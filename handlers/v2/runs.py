"""`/api/v2/runs.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page
from handlers.request import Request
from persistence.runs import v2 as run_records
from persistence.sql.pages import Page, Position


def list_runs(
    request: Request,
    *,
    id: int | None = None,
    uuid: str | None = None,
    flow: str | None = None,
    contact: str | None = None,
    responded: bool | None = None,
    paths: bool = True,
    before: datetime | None = None,
    after: datetime | None = None,
    reverse: bool = False,
) -> Answer:
    workspace = request.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return run_records.list_runs(
            request.tx,
            workspace.id,
            position,
            size,
            run_id=id,
            uuid=uuid,
            flow_uuid=flow,
            contact_uuid=contact,
            responded=responded,
            before=before,
            after=after,
            reverse=reverse,
            masked=workspace.is_anonymous,
            with_path=paths,
        )

    return answer_page(request, run_records.runs_order(reverse=reverse), fetch)
