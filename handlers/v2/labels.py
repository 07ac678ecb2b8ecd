"""`/api/v2/labels.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, inserted_record, no_content
from handlers.request import Request
from persistence import labels

list_labels = ListAnswer(labels.LABELS)


def write_label(request: Request, *, uuid: str | None = None) -> Answer:
    name = request.body["name"]
    if uuid is None:
        return inserted_record(request, labels.LABELS, labels.new_label(request.tx, request.workspace.id, name))
    return changed_record(request, labels.LABELS, labels.rename_label(request.tx, request.workspace.id, uuid, name))


def delete_label(request: Request, *, uuid: str) -> Answer:
    labels.delete_label(request.tx, request.workspace.id, uuid)
    return no_content()
