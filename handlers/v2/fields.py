"""`/api/v2/fields.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Call
from persistence import fields
from persistence.errors import InvalidInput
from persistence.fields import alter_field, remove_field

list_fields = ListAnswer(fields.FIELDS)


def write_field(call: Call, *, key: str | None = None) -> Answer:
    workspace = call.workspace
    name, kind = _either(call, "name", "label"), _either(call, "type", "value_type")
    kind = "number" if kind == "numeric" else kind
    if key is None:
        field_id = fields.create_field(call.tx, workspace.id, name, kind)
    else:
        field_id = alter_field(call.tx, workspace.id, key, name, kind)
    if "agent_access" in call.body:
        fields.set_agent_access(call.tx, workspace.id, field_id, call.body["agent_access"])
    return (created_record if key is None else changed_record)(call, fields.FIELDS, field_id)


def delete_field(call: Call, *, key: str) -> Answer:
    workspace = call.workspace
    remove_field(call.tx, workspace, key)
    return no_content()


def _either(call: Call, newer: str, older: str) -> str:
    value = call.body.get(newer) or call.body.get(older)
    if not value:
        raise InvalidInput.on(newer, "A value is required.")
    text: str = value
    return text
