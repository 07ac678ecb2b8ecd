"""`/api/v1/org.json`."""

from handlers.answers import Answer, ok
from handlers.request import Call
from persistence.workspaces import read_workspace


def read_org(call: Call) -> Answer:
    return ok(read_workspace(call.tx, call.workspace.id))
