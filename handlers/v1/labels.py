"""`/api/v1/labels.json`."""

from handlers.answers import Answer, NumberedListAnswer, created_record, inserted_record
from handlers.request import Request
from persistence import labels
from persistence.errors import InvalidInput, RecordMissing
from persistence.labels import rename_label

list_labels = NumberedListAnswer(labels.LABELS_V1)


def write_label(request: Request) -> Answer:
    workspace = request.workspace
    uuid, name = request.body.get("uuid"), request.body["name"]
    refuse_signs(name, "name")
    if uuid is None:
        return inserted_record(request, labels.LABELS_V1, labels.new_label(request.tx, workspace.id, name))
    try:
        label_id = rename_label(request.tx, workspace.id, uuid, name)
    except RecordMissing as error:
        raise InvalidInput.on("uuid", f'Nothing found for "{uuid}".') from error
    return created_record(request, labels.LABELS_V1, label_id)


def refuse_signs(name: str, field: str) -> None:
    """Raises InvalidInput for a name that filters of messages would read as a required or a forbidden label."""
    if name.strip()[:1] in ("+", "-"):
        raise InvalidInput.on(field, "A label name cannot begin with + or -.")
