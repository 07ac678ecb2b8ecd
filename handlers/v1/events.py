"""`/api/v1/events.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_numbered_page, created, no_content
from handlers.request import Call
from persistence.campaign_events import v1 as events


def list_events(
    call: Call,
    *,
    uuid: list[str] | None = None,
    campaign_uuid: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    workspace = call.workspace
    return answer_numbered_page(
        call,
        page,
        lambda number, size: events.list_event_summaries(
            call.tx,
            workspace.id,
            number,
            size,
            uuids=uuid,
            campaign_uuids=campaign_uuid,
            before=before,
            after=after,
        ),
    )


def write_event(call: Call) -> Answer:
    workspace = call.workspace
    event_id = events.write_event(call.tx, workspace, call.body)
    return created(events.read_event_summary(call.tx, workspace.id, event_id))


def delete_events(call: Call, *, uuid: list[str] | None = None, campaign_uuid: list[str] | None = None) -> Answer:
    workspace = call.workspace
    events.delete_events(call.tx, workspace.id, uuids=uuid, campaign_uuids=campaign_uuid)
    return no_content()
