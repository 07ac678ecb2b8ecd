"""`/api/v2/fields.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, inserted_record, no_content
from handlers.request import Request
from persistence import fields
from persistence.errors import InvalidInput
from persistence.fields import FIELDS

list_fields = ListAnswer(FIELDS)


def write_field(request: Request, *, key: str | None = None) -> Answer:
    workspace = request.workspace
    name, kind = _either(request, "name", "label"), _either(request, "type", "value_type")
    kind = "number" if kind == "numeric" else kind
    access = request.body.get("agent_access")
    if key is None:
        new = fields.new_field(request.tx, workspace.id, name, kind, access=access)
        return inserted_record(request, FIELDS, new)
    field_id = fields.change_field(request.tx, workspace.id, key, name, kind)
    if access is not None:
        fields.set_agent_access(request.tx, workspace.id, field_id, access)
    return changed_record(request, FIELDS, field_id)


def delete_field(request: Request, *, key: str) -> Answer:
    workspace = request.workspace
    fields.delete_field(request.tx, workspace, key)
    return no_content()


def _either(request: Request, newer: str, older: str) -> str:
    value = request.body.get(newer) or request.body.get(older)
    if not value:
        raise InvalidInput.on(newer, "A value is required.", "required")
    text: str = value
    return text
