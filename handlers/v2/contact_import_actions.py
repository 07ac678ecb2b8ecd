"""`/api/v2/contact_import_actions.json`."""

from handlers.answers import Answer, changed_record
from handlers.request import Request
from persistence.imports.contact_imports import CONTACT_IMPORTS, start_import


def act_on_contact_import(request: Request) -> Answer:
    body = request.body
    chosen = {each["header"]: each["target"] for each in body.get("columns", [])}
    started = start_import(request.tx, request.workspace, body["import"], chosen, body.get("group"))
    return changed_record(request, CONTACT_IMPORTS, started)
