"""`/api/v2/resthook_events.json`."""

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence.resthooks import events as resthook_events
from persistence.sql.pages import Page, Position


def list_resthook_events(call: Call, *, resthook: str | None = None) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return resthook_events.list_resthook_events(call.tx, workspace.id, position, size, slug=resthook)

    return answer_page(call, resthook_events.EVENTS_ORDER, fetch)
