"""`/api/v1/boundaries.json`."""

from handlers.answers import Answer, answer_numbered_page
from handlers.request import Request
from persistence.boundaries.boundaries import list_boundary_summaries


def list_boundaries(request: Request, *, page: str | None = None) -> Answer:
    workspace = request.workspace
    return answer_numbered_page(
        request, page, lambda number, size: list_boundary_summaries(request.tx, workspace, number, size)
    )
