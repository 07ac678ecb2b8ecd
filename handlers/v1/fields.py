"""`/api/v1/fields.json`."""

from handlers.answers import Answer, NumberedListAnswer, created_record, inserted_record
from handlers.request import Request
from persistence.errors import InvalidInput, RecordMissing
from persistence.fields import FIELDS_V1, TYPE_LETTERS, change_field, find_key, new_field

NAMES = {"name": "label", "type": "value_type"}
WORDS = {letter: word for word, letter in TYPE_LETTERS.items()}


list_fields = NumberedListAnswer(FIELDS_V1)


def write_field(request: Request) -> Answer:
    label, kind = request.body["label"], WORDS[request.body["value_type"]]
    key = request.body.get("key") or None
    try:
        return _write(request, key, label, kind)
    except RecordMissing as error:
        raise InvalidInput.on("key", f'Nothing found for "{key}".') from error
    except InvalidInput as error:
        raise InvalidInput({NAMES.get(name, name): text for name, text in error.errors.items()}) from error


def _write(request: Request, key: str | None, label: str, kind: str) -> Answer:
    """Change the field with the key, or with the key derived from the label or with the label, or create a field."""
    workspace_id = request.workspace.id
    known = key or find_key(request.tx, workspace_id, label)
    if known is not None:
        field_id = change_field(request.tx, workspace_id, known, label, kind)
        return created_record(request, FIELDS_V1, field_id)
    return inserted_record(request, FIELDS_V1, new_field(request.tx, workspace_id, label, kind))
