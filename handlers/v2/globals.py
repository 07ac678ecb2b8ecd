"""`/api/v2/globals.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Call
from persistence import globals as global_values
from persistence.errors import InvalidInput
from persistence.globals import remove_global

list_globals = ListAnswer(global_values.GLOBALS)


def write_global(call: Call, *, key: str | None = None) -> Answer:
    workspace = call.workspace
    name, value = call.body.get("name"), call.body["value"]
    if key is not None:
        global_id = global_values.change_global(call.tx, workspace.id, key, value, name)
        return changed_record(call, global_values.GLOBALS, global_id)
    if name is None:
        raise InvalidInput.on("name", "A value is required.")
    return created_record(call, global_values.GLOBALS, global_values.create_global(call.tx, workspace.id, name, value))


def delete_global(call: Call, *, key: str) -> Answer:
    workspace = call.workspace
    remove_global(call.tx, workspace.id, key)
    return no_content()
