"""`/api/v2/workspace.json`, its older name `org.json`, `workspace_settings.json` and `workspace_figures.json`."""

from handlers.answers import Answer, as_json, check_unchanged, ok
from handlers.contract.operations import may_use
from handlers.request import Request
from persistence.figures import figures
from persistence.tokens import covers
from persistence.workspaces import records
from persistence.workspaces.writes import change_workspace, read_changes

USUAL_DAYS = 30


def read_workspace(request: Request) -> Answer:
    workspace = request.workspace
    return ok(records.read_workspace(request.tx, workspace.id))


read_org = read_workspace


def change_workspace_settings(request: Request) -> Answer:
    tx, workspace = request.tx, request.workspace
    check_unchanged(request, lambda: records.read_workspace(tx, workspace.id))
    change_workspace(tx, workspace, read_changes(request.body))
    return ok(records.read_workspace(tx, workspace.id))


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
