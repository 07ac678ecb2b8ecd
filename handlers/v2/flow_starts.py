"""`/api/v2/flow_starts.json`."""

from handlers.answers import Answer, ListAnswer, created_record
from handlers.request import Request
from persistence.flow_starts.flow_starts import create_start, read_form
from persistence.flow_starts.v2 import STARTS

list_flow_starts = ListAnswer(STARTS)


def create_flow_start(request: Request) -> Answer:
    workspace = request.workspace
    form = read_form(request.tx, workspace, request.body, request.credentials.user_id)
    start_id = create_start(request.tx, workspace.id, form)
    return created_record(request, STARTS, start_id)
