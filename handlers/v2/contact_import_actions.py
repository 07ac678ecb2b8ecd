"""`/api/v2/contact_import_actions.json`."""

import orjson

from handlers.answers import Answer, changed_record, ok, with_link
from handlers.request import Request
from persistence.errors import InvalidInput
from persistence.imports.columns import Choice
from persistence.imports.contact_imports import CONTACT_IMPORTS, cancel_import, read_again, start_import
from persistence.imports.taking_back import count_taking_back, take_back
from persistence.lists import read_record

READING = ("encoding", "date_style", "decimal_sign", "unread")


def act_on_contact_import(request: Request) -> Answer:
    body = request.body
    if body.get("dry_run") and body["action"] != "take_back":
        raise InvalidInput.on("dry_run", "Only an import that is taken back takes this.")
    if body["action"] in ("cancel", "take_back"):
        return _end(request)
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


def _end(request: Request) -> Answer:
    """Cancels an import, or takes it back."""
    body, tx, workspace = request.body, request.tx, request.workspace
    for name in ("columns", "group", *READING):
        if name in body:
            raise InvalidInput.on(name, "Only an import that is read or started takes this.")
    if body["action"] == "cancel":
        return changed_record(request, CONTACT_IMPORTS, cancel_import(tx, workspace, body["import"]))
    if body.get("dry_run"):
        found, counts = count_taking_back(tx, workspace, body["import"])
    else:
        found, counts = take_back(tx, workspace, body["import"]), {}
    record = orjson.loads(read_record(tx, CONTACT_IMPORTS, workspace, found))
    return ok(with_link("rejects_url")(request, orjson.dumps({**record, **counts}).decode()))
