"""`/api/v2/resthooks.json`."""

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence.resthooks import resthooks
from persistence.sql.pages import Page, Position


def list_resthooks(call: Call, *, reverse: bool = False) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return resthooks.list_resthooks(call.tx, workspace.id, position, size, reverse=reverse)

    return answer_page(call, resthooks.resthooks_order(reverse=reverse), fetch)
