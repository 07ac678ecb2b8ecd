"""`/api/v2/fields.json`."""

from handlers.answers import Answer, answer_page, created, no_content, ok
from handlers.request import Call
from persistence import fields
from persistence.errors import InvalidInput
from persistence.fields import alter_field, remove_field
from persistence.sql.pages import Page, Position


def list_fields(call: Call, *, key: str | None = None) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return fields.list_fields(call.tx, workspace.id, position, size, key=key, for_agent=call.is_agent)

    return answer_page(call, fields.FIELDS_ORDER, fetch)


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
    record = fields.read_field(call.tx, workspace.id, field_id)
    return created(record) if key is None else ok(record)


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
