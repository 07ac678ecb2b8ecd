"""`/api/v2/definitions.json`."""

from flows.definition.exports import Dependencies
from handlers.answers import Answer, ok
from handlers.request import Request
from persistence.definitions.exporting import export_definitions
from persistence.tokens import check_area

WORDS = {
    **dict.fromkeys(("true", "yes", "y", "1", "all"), Dependencies.ALL),
    **dict.fromkeys(("false", "no", "n", "0", "none"), Dependencies.NONE),
    "flows": Dependencies.FLOWS,
}
"""What is included, as a Boolean and in the words of older clients."""


def read_definitions(
    request: Request,
    *,
    flow: list[str] | None = None,
    campaign: list[str] | None = None,
    dependencies: str = "all",
) -> Answer:
    workspace = request.workspace
    wanted = WORDS[dependencies.lower()]
    if campaign:
        check_area(request.areas, "campaigns")
    given = (flow or (), campaign or ())
    return ok(
        export_definitions(request.tx, workspace, *given, dependencies=wanted, site=request.root, areas=request.areas)
    )
