"""`/api/v2/contact_import_actions.json`."""

from handlers.answers import Answer, changed_record
from handlers.request import Request
from persistence.errors import InvalidInput
from persistence.imports.columns import Choice
from persistence.imports.contact_imports import CONTACT_IMPORTS, cancel_import, read_again, start_import

READING = ("encoding", "date_style", "decimal_sign", "unread")


def act_on_contact_import(request: Request) -> Answer:
    body = request.body
    if body["action"] == "cancel":
        return _cancel(request)
    chosen = [Choice(each["target"], each.get("header"), each.get("place")) for each in body.get("columns", [])]
    how = {name: body[name] for name in READING if name in body}
    if body["action"] == "read":
        if "group" in body:
            raise InvalidInput.on("group", "Only an import that is started takes this.")
        again = read_again(request.tx, request.workspace, body["import"], chosen, how)
        return changed_record(request, CONTACT_IMPORTS, again)
    if "encoding" in how:
        raise InvalidInput.on("encoding", "With another encoding the file is read again: use the action `read`.")
    started = start_import(request.tx, request.workspace, body["import"], chosen, body.get("group"), how)
    return changed_record(request, CONTACT_IMPORTS, started)


def _cancel(request: Request) -> Answer:
    for name in ("columns", "group", *READING):
        if name in request.body:
            raise InvalidInput.on(name, "Only an import that is read or started takes this.")
    return changed_record(
        request, CONTACT_IMPORTS, cancel_import(request.tx, request.workspace, request.body["import"])
    )
