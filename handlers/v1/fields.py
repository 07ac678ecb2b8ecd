"""`/api/v1/fields.json`."""

from handlers.answers import Answer, NumberedListAnswer, created_record
from handlers.request import Request
from persistence.errors import InvalidInput, RecordMissing
from persistence.field_editing import change_field
from persistence.field_writes import create_field, make_key
from persistence.fields import FIELDS_V1, TYPE_LETTERS, find_fields

NAMES = {"name": "label", "type": "value_type"}
WORDS = {letter: word for word, letter in TYPE_LETTERS.items()}


list_fields = NumberedListAnswer(FIELDS_V1)


def write_field(request: Request) -> Answer:
    label, kind = request.body["label"], WORDS[request.body["value_type"]]
    key = request.body.get("key") or None
    try:
        field_id = _write(request, key, label, kind)
    except RecordMissing as error:
        raise InvalidInput.on("key", f'Nothing found for "{key}".') from error
    except InvalidInput as error:
        raise InvalidInput({NAMES.get(name, name): text for name, text in error.errors.items()}) from error
    return created_record(request, FIELDS_V1, field_id)


def _write(request: Request, key: str | None, label: str, kind: str) -> int:
    """Change the field with the key or with the key derived from the label, or create a field."""
    workspace_id = request.workspace.id
    made = key or make_key(label)
    if key is not None or find_fields(request.tx, workspace_id, [made]):
        return change_field(request.tx, workspace_id, made, label, kind)
    return create_field(request.tx, workspace_id, label, kind)
