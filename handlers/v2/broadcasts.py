"""`/api/v2/broadcasts.json`, `broadcast_actions.json`, `broadcast_progress.json` and `broadcast_previews.json`."""

from handlers.answers import Answer, ListAnswer, as_json, created_record, no_content
from handlers.request import Request
from persistence.broadcasts import records
from persistence.broadcasts.expansion import preview, read_form
from persistence.broadcasts.records import BROADCASTS
from persistence.sql.columns import time_text
from persistence.tokens import check_area

list_broadcasts = ListAnswer(BROADCASTS)


def create_broadcast(request: Request) -> Answer:
    workspace = request.workspace
    if request.body.get("query"):
        check_area(request.areas, "contacts")
    broadcast_id = records.create_broadcast(request.tx, workspace.id, read_form(request.tx, workspace, request.body))
    return created_record(request, BROADCASTS, broadcast_id)


def act_on_broadcasts(request: Request) -> Answer:
    records.stop_broadcasts(request.tx, request.workspace.id, request.body["broadcasts"])
    return no_content()


def read_broadcast_progress(request: Request, *, uuid: str) -> Answer:
    found = records.read_progress(request.tx, request.workspace.id, uuid)
    moments = {name: found[name] and time_text(found[name]) for name in ("scheduled_on", "stopped_on")}
    return as_json(200, found | moments)


def preview_broadcast(request: Request) -> Answer:
    if request.body.get("query") or request.body.get("contact"):
        check_area(request.areas, "contacts")
    return as_json(200, preview(request.tx, request.workspace, request.body))
