"""`/api/v2/workspace_figures.json`, `flow_figures.json` and `calendar.json`."""

from handlers.answers import Answer, as_json
from handlers.contract.operations import may_use
from handlers.request import Request
from persistence import figures
from persistence.tokens import covers

USUAL_DAYS = 30


def read_workspace_figures(request: Request, *, days: int = USUAL_DAYS) -> Answer:
    """Counts are of the whole workspace. Channels and webhooks are named to those who may list them."""
    who, found = request.credentials, figures.read_workspace_figures(request.tx, request.workspace.id, int(days))
    if not may_use(who, "list_channels"):
        found |= {"channels": [], "silent_phones": []}
    lists_receivers = may_use(who, "list_webhook_receivers")
    shown = [
        each
        for each in found["failing_webhooks"]
        if lists_receivers and covers(request.areas, "flows" if each["channel"] is None else "channels")
    ]
    return as_json(200, found | {"failing_webhooks": shown})


def read_flow_figures(request: Request, *, uuid: str, days: int = USUAL_DAYS) -> Answer:
    return as_json(200, figures.read_flow_figures(request.tx, request.workspace.id, uuid, int(days)))


def read_calendar(request: Request, *, days: int = USUAL_DAYS) -> Answer:
    return as_json(200, figures.read_calendar(request.tx, request.workspace, int(days), request.areas))
