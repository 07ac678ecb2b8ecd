"""`/api/v2/labels.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Call
from persistence import labels

list_labels = ListAnswer(labels.LABELS)


def write_label(call: Call, *, uuid: str | None = None) -> Answer:
    name = call.body["name"]
    if uuid is None:
        return created_record(call, labels.LABELS, labels.create_label(call.tx, call.workspace.id, name))
    return changed_record(call, labels.LABELS, labels.rename_label(call.tx, call.workspace.id, uuid, name))


def delete_label(call: Call, *, uuid: str) -> Answer:
    labels.delete_label(call.tx, call.workspace.id, uuid)
    return no_content()
