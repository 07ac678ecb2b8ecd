"""`/api/v2/boundaries.json`."""

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence.boundaries import boundaries
from persistence.sql.pages import Page, Position


def list_boundaries(call: Call, *, geometry: bool = True) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return boundaries.list_boundaries(call.tx, workspace, position, size, with_geometry=geometry)

    return answer_page(call, boundaries.BOUNDARIES_ORDER, fetch)
