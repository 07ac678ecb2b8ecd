"""`/api/v2/broadcasts.json`."""

from handlers.answers import Answer, ListAnswer, created_record
from handlers.request import Request
from persistence.broadcasts import v2 as broadcasts
from persistence.broadcasts.form import read_form

list_broadcasts = ListAnswer(broadcasts.BROADCASTS)


def create_broadcast(request: Request) -> Answer:
    workspace = request.workspace
    broadcast_id = broadcasts.create_broadcast(request.tx, workspace.id, read_form(request.tx, workspace, request.body))
    return created_record(request, broadcasts.BROADCASTS, broadcast_id)
