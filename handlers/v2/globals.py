"""`/api/v2/globals.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page, created, no_content, ok
from handlers.request import Call
from persistence import globals as global_values
from persistence.errors import InvalidInput
from persistence.globals import remove_global
from persistence.sql.pages import Page, Position


def list_globals(
    call: Call,
    *,
    key: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    reverse: bool = False,
) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return global_values.list_globals(
            call.tx, workspace.id, position, size, key=key, before=before, after=after, reverse=reverse
        )

    return answer_page(call, global_values.globals_order(reverse=reverse), fetch)


def write_global(call: Call, *, key: str | None = None) -> Answer:
    workspace = call.workspace
    name, value = call.body.get("name"), call.body["value"]
    if key is not None:
        global_id = global_values.change_global(call.tx, workspace.id, key, value, name)
        return ok(global_values.read_global(call.tx, workspace.id, global_id))
    if name is None:
        raise InvalidInput.on("name", "A value is required.")
    global_id = global_values.create_global(call.tx, workspace.id, name, value)
    return created(global_values.read_global(call.tx, workspace.id, global_id))


def delete_global(call: Call, *, key: str) -> Answer:
    workspace = call.workspace
    remove_global(call.tx, workspace.id, key)
    return no_content()
