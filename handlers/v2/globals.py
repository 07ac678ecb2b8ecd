"""`/api/v2/globals.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, inserted_record, no_content
from handlers.request import Request
from persistence import globals
from persistence.errors import InvalidInput
from persistence.globals import GLOBALS

list_globals = ListAnswer(GLOBALS)


def write_global(request: Request, *, key: str | None = None) -> Answer:
    workspace = request.workspace
    name, value = request.body.get("name"), request.body["value"]
    if key is not None:
        global_id = globals.change_global(request.tx, workspace.id, key, value, name)
        return changed_record(request, GLOBALS, global_id)
    if name is None:
        raise InvalidInput.on("name", "A value is required.", "required")
    return inserted_record(request, GLOBALS, globals.new_global(request.tx, workspace.id, name, value))


def delete_global(request: Request, *, key: str) -> Answer:
    workspace = request.workspace
    globals.delete_global(request.tx, workspace.id, key)
    return no_content()
