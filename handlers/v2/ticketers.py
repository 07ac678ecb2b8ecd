"""`/api/v2/ticketers.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence import ticketers
from persistence.sql.pages import Page, Position


def list_ticketers(
    call: Call, *, uuid: str | None = None, before: datetime | None = None, after: datetime | None = None
) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return ticketers.list_ticketers(call.tx, workspace.id, position, size, uuid=uuid, before=before, after=after)

    return answer_page(call, ticketers.TICKETERS_ORDER, fetch)
