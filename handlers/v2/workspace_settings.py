"""`/api/v2/workspace_settings.json`: what administrators change of their workspace."""

from handlers.answers import Answer, ok
from handlers.request import Request
from persistence.workspace_changes import change_workspace, read_changes
from persistence.workspaces import read_workspace


def change_workspace_settings(request: Request) -> Answer:
    tx, workspace = request.tx, request.workspace
    change_workspace(tx, workspace, read_changes(request.body))
    return ok(read_workspace(tx, workspace.id))
