"""`/api/v2/workspace.json`, and its older name `/api/v2/org.json`."""

from handlers.answers import Answer, ok
from handlers.request import Call
from persistence import workspaces


def read_workspace(call: Call) -> Answer:
    workspace = call.workspace
    return ok(workspaces.read_workspace(call.tx, workspace.id))


def read_org(call: Call) -> Answer:
    workspace = call.workspace
    return ok(workspaces.read_workspace(call.tx, workspace.id))
