"""`/api/v1/boundaries.json`."""

from handlers.answers import Answer, answer_numbered_page
from handlers.request import Call
from persistence.boundaries.boundaries import list_boundary_summaries


def list_boundaries(call: Call, *, page: str | None = None) -> Answer:
    workspace = call.workspace
    return answer_numbered_page(
        call, page, lambda number, size: list_boundary_summaries(call.tx, workspace, number, size)
    )
