"""`/api/v2/broadcasts.json`, `broadcast_actions.json`, `broadcast_progress.json` and `broadcast_previews.json`."""

from handlers.answers import Answer, ListAnswer, as_json, changed_record, created, no_content
from handlers.request import Request
from persistence.broadcasts import records
from persistence.broadcasts.forms import change_from_form, create_from_form, delete_draft, preview
from persistence.broadcasts.records import BROADCASTS
from persistence.sql.columns import time_text
from persistence.tokens import check_area

list_broadcasts = ListAnswer(BROADCASTS)


def create_broadcast(request: Request, *, uuid: str | None = None) -> Answer:
    if request.body.get("query"):
        check_area(request.areas, "contacts")
    if uuid is None:
        return created(create_from_form(request.tx, request.workspace, request.body))
    broadcast_id = change_from_form(request.tx, request.workspace, uuid, request.body)
    return changed_record(request, BROADCASTS, broadcast_id)


def delete_broadcast(request: Request, *, uuid: str) -> Answer:
    delete_draft(request.tx, request.workspace.id, uuid)
    return no_content()


def act_on_broadcasts(request: Request) -> Answer:
    records.stop_broadcasts(request.tx, request.workspace.id, request.body["broadcasts"])
    return no_content()


def read_broadcast_progress(request: Request, *, uuid: str) -> Answer:
    found = records.read_progress(request.tx, request.workspace, uuid)
    moments = {name: found[name] and time_text(found[name]) for name in ("scheduled_on", "stopped_on")}
    return as_json(200, found | moments | {"next_times": [time_text(moment) for moment in found["next_times"]]})


def preview_broadcast(request: Request) -> Answer:
    if request.body.get("query") or request.body.get("contact"):
        check_area(request.areas, "contacts")
    return as_json(200, preview(request.tx, request.workspace, request.body))
