"""`/api/v1/flows.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_numbered_page
from handlers.request import Request
from persistence.flows.v1 import FlowFilter, list_flow_summaries


def list_flows(
    request: Request,
    *,
    flow: list[int] | None = None,
    uuid: list[str] | None = None,
    label: list[str] | None = None,
    archived: bool | None = None,
    type: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    workspace = request.workspace
    wanted = FlowFilter(flow, uuid, label, type, archived, before, after)
    return answer_numbered_page(
        request, page, lambda number, size: list_flow_summaries(request.tx, workspace.id, wanted, number, size)
    )
