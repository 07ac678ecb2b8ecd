"""`/api/v2/flows.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page
from handlers.request import Request
from persistence.flows import v2 as flow_records
from persistence.sql.pages import Page, Position


def list_flows(
    request: Request,
    *,
    uuid: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    type: str | None = None,
    archived: bool | None = None,
) -> Answer:
    workspace = request.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return flow_records.list_flows(
            request.tx,
            workspace.id,
            position,
            size,
            uuid=uuid,
            flow_type=type,
            archived=archived,
            before=before,
            after=after,
        )

    return answer_page(request, flow_records.FLOWS_ORDER, fetch)
