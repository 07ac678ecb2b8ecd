"""`/api/v1/fields.json`."""

from handlers.answers import Answer, answer_numbered_page, created
from handlers.request import Call
from persistence import fields
from persistence.errors import InvalidInput, RecordMissing
from persistence.fields import TYPE_LETTERS, alter_field, list_field_summaries, read_field_summary

NAMES = {"name": "label", "type": "value_type"}
WORDS = {letter: word for word, letter in TYPE_LETTERS.items()}


def list_fields(call: Call, *, key: str | None = None, page: str | None = None) -> Answer:
    workspace = call.workspace
    return answer_numbered_page(
        call, page, lambda number, size: list_field_summaries(call.tx, workspace.id, number, size, key_part=key)
    )


def write_field(call: Call) -> Answer:
    workspace = call.workspace
    label, kind = call.body["label"], WORDS[call.body["value_type"]]
    key = call.body.get("key") or None
    try:
        field_id = _write(call, key, label, kind)
    except RecordMissing as error:
        raise InvalidInput.on("key", f'Nothing found for "{key}".') from error
    except InvalidInput as error:
        raise InvalidInput({NAMES.get(name, name): text for name, text in error.errors.items()}) from error
    return created(read_field_summary(call.tx, workspace.id, field_id))


def _write(call: Call, key: str | None, label: str, kind: str) -> int:
    """Change the field with the key, or the one whose key the label makes, or create one."""
    workspace_id = call.workspace.id
    made = key or fields.make_key(label)
    if key is not None or fields.find_fields(call.tx, workspace_id, [made]):
        return alter_field(call.tx, workspace_id, made, label, kind)
    return fields.create_field(call.tx, workspace_id, label, kind)
