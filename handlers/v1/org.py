"""`/api/v1/org.json`."""

from handlers.answers import Answer, ok
from handlers.request import Request
from persistence.workspaces.records import read_workspace


def read_org(request: Request) -> Answer:
    return ok(read_workspace(request.tx, request.workspace.id, in_v1=True))
