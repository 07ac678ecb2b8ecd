"""`/api/v2/broadcasts.json`."""

from handlers.answers import Answer, ListAnswer, created_record
from handlers.request import Request
from persistence.broadcasts import writes
from persistence.broadcasts.form import read_form
from persistence.broadcasts.records import BROADCASTS
from persistence.tokens import check_area

list_broadcasts = ListAnswer(BROADCASTS)


def create_broadcast(request: Request) -> Answer:
    workspace = request.workspace
    if request.body.get("query"):
        check_area(request.areas, "contacts")
    broadcast_id = writes.create_broadcast(request.tx, workspace.id, read_form(request.tx, workspace, request.body))
    return created_record(request, BROADCASTS, broadcast_id)
