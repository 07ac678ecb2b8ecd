"""`/api/v2/labels.json`."""

from handlers.answers import Answer, answer_page, created, no_content, ok
from handlers.request import Call
from persistence import labels
from persistence.labels import delete_label as remove_label
from persistence.labels import rename_label
from persistence.sql.pages import Page, Position


def list_labels(call: Call, *, uuid: str | None = None, name: str | None = None) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return labels.list_labels(call.tx, workspace.id, position, size, uuid=uuid, name=name)

    return answer_page(call, labels.LABELS_ORDER, fetch)


def write_label(call: Call, *, uuid: str | None = None) -> Answer:
    workspace = call.workspace
    name = call.body["name"]
    if uuid is None:
        label_id = labels.create_label(call.tx, workspace.id, name)
        return created(labels.read_label(call.tx, workspace.id, label_id))
    label_id = rename_label(call.tx, workspace.id, uuid, name)
    return ok(labels.read_label(call.tx, workspace.id, label_id))


def delete_label(call: Call, *, uuid: str) -> Answer:
    workspace = call.workspace
    remove_label(call.tx, workspace.id, uuid)
    return no_content()
