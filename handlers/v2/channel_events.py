"""`/api/v2/channel_events.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence.channels import events as channel_events
from persistence.sql.pages import Page, Position


def list_channel_events(
    call: Call,
    *,
    id: int | None = None,
    contact: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return channel_events.list_channel_events(
            call.tx, workspace.id, position, size, event_id=id, contact_uuid=contact, before=before, after=after
        )

    return answer_page(call, channel_events.CHANNEL_EVENTS_ORDER, fetch)
