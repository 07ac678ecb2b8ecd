"""`/api/v2/definitions.json`."""

from flows.definition.exports import Dependencies
from handlers.answers import Answer, ok
from handlers.contract.operations import may_use
from handlers.request import Request
from persistence.definitions.exporting import export_definitions
from persistence.errors import NotAllowed

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
    with_campaigns = may_use(request.credentials, "list_campaigns")
    if campaign and not with_campaigns:
        raise NotAllowed("You may not read campaigns.")
    found = export_definitions(
        request.tx,
        workspace,
        flow or (),
        campaign or (),
        dependencies=wanted,
        site=request.root,
        with_campaigns=with_campaigns,
        with_groups=may_use(request.credentials, "list_groups"),
    )
    return ok(found)
