"""`/api/v2/fields.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Request
from persistence import field_editing, field_writes
from persistence.errors import InvalidInput
from persistence.fields import FIELDS

list_fields = ListAnswer(FIELDS)


def write_field(request: Request, *, key: str | None = None) -> Answer:
    workspace = request.workspace
    name, kind = _either(request, "name", "label"), _either(request, "type", "value_type")
    kind = "number" if kind == "numeric" else kind
    if key is None:
        field_id = field_writes.create_field(request.tx, workspace.id, name, kind)
    else:
        field_id = field_editing.change_field(request.tx, workspace.id, key, name, kind)
    if "agent_access" in request.body:
        field_writes.set_agent_access(request.tx, workspace.id, field_id, request.body["agent_access"])
    return (created_record if key is None else changed_record)(request, FIELDS, field_id)


def delete_field(request: Request, *, key: str) -> Answer:
    workspace = request.workspace
    field_editing.delete_field(request.tx, workspace, key)
    return no_content()


def _either(request: Request, newer: str, older: str) -> str:
    value = request.body.get(newer) or request.body.get(older)
    if not value:
        raise InvalidInput.on(newer, "A value is required.")
    text: str = value
    return text
