"""`/api/v2/broadcast_actions.json`, `broadcast_progress.json` and `broadcast_previews.json`."""

from handlers.answers import Answer, as_json, no_content
from handlers.request import Request
from persistence.broadcasts import writes
from persistence.broadcasts.form import preview
from persistence.sql.columns import time_text
from persistence.tokens import check_area


def act_on_broadcasts(request: Request) -> Answer:
    writes.stop_broadcasts(request.tx, request.workspace.id, request.body["broadcasts"])
    return no_content()


def read_broadcast_progress(request: Request, *, uuid: str) -> Answer:
    found = writes.read_progress(request.tx, request.workspace.id, uuid)
    moments = {name: found[name] and time_text(found[name]) for name in ("scheduled_on", "stopped_on")}
    return as_json(200, found | moments)


def preview_broadcast(request: Request) -> Answer:
    if request.body.get("query") or request.body.get("contact"):
        check_area(request.areas, "contacts")
    return as_json(200, preview(request.tx, request.workspace, request.body))
