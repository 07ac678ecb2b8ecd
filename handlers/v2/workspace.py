"""`/api/v2/workspace.json`, and its older name `/api/v2/org.json`."""

from handlers.answers import Answer, ok
from handlers.request import Request
from persistence import workspaces


def read_workspace(request: Request) -> Answer:
    workspace = request.workspace
    return ok(workspaces.read_workspace(request.tx, workspace.id))


def read_org(request: Request) -> Answer:
    workspace = request.workspace
    return ok(workspaces.read_workspace(request.tx, workspace.id))
