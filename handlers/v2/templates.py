"""`/api/v2/templates.json`."""

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence import templates
from persistence.sql.pages import Page, Position


def list_templates(call: Call, *, reverse: bool = False) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return templates.list_templates(call.tx, workspace.id, position, size, reverse=reverse)

    return answer_page(call, templates.templates_order(reverse=reverse), fetch)
