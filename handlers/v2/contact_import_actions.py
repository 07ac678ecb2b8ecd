"""`/api/v2/contact_import_actions.json`."""

from handlers.answers import Answer, changed_record
from handlers.request import Request
from persistence.errors import InvalidInput
from persistence.imports.contact_imports import CONTACT_IMPORTS, cancel_import, start_import


def act_on_contact_import(request: Request) -> Answer:
    body = request.body
    if body["action"] == "cancel":
        return _cancel(request)
    chosen = {each["header"]: each["target"] for each in body.get("columns", [])}
    started = start_import(request.tx, request.workspace, body["import"], chosen, body.get("group"))
    return changed_record(request, CONTACT_IMPORTS, started)


def _cancel(request: Request) -> Answer:
    for name in ("columns", "group"):
        if name in request.body:
            raise InvalidInput.on(name, "Only an import that is started takes this.")
    return changed_record(
        request, CONTACT_IMPORTS, cancel_import(request.tx, request.workspace, request.body["import"])
    )
