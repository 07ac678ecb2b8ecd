"""`/api/v2/boundaries.json`."""

from handlers.answers import Answer, answer_page
from handlers.request import Request
from persistence.boundaries import boundaries
from persistence.sql.pages import Page, Position


def list_boundaries(request: Request, *, geometry: bool = True) -> Answer:
    workspace = request.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return boundaries.list_boundaries(request.tx, workspace, position, size, with_geometry=geometry)

    return answer_page(request, boundaries.BOUNDARIES_ORDER, fetch)
