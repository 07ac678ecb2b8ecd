"""`/api/v1/events.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_numbered_page, created, no_content
from handlers.request import Request
from persistence.campaign_events import v1 as events


def list_events(
    request: Request,
    *,
    uuid: list[str] | None = None,
    campaign_uuid: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    workspace = request.workspace
    return answer_numbered_page(
        request,
        page,
        lambda number, size: events.list_event_summaries(
            request.tx,
            workspace.id,
            number,
            size,
            uuids=uuid,
            campaign_uuids=campaign_uuid,
            before=before,
            after=after,
        ),
    )


def write_event(request: Request) -> Answer:
    workspace = request.workspace
    event_id = events.write_event(request.tx, workspace, request.body)
    return created(events.read_event_summary(request.tx, workspace.id, event_id))


def delete_events(request: Request, *, uuid: list[str] | None = None, campaign_uuid: list[str] | None = None) -> Answer:
    workspace = request.workspace
    events.delete_events(request.tx, workspace.id, uuids=uuid, campaign_uuids=campaign_uuid)
    return no_content()
