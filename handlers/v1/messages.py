"""`/api/v1/messages.json` and `message_actions.json`."""

from handlers.answers import Answer, NumberedListAnswer, no_content
from handlers.request import Request
from handlers.v1.labels import refuse_signs
from persistence import labels
from persistence.errors import InvalidInput
from persistence.messages import actions as message_actions
from persistence.messages.records import MESSAGES_V1
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist

list_messages = NumberedListAnswer(MESSAGES_V1)

WITHOUT_LABEL = {
    "archive": message_actions.archive_messages,
    "unarchive": message_actions.restore_messages,
    "delete": message_actions.delete_messages,
}


def act_on_messages(request: Request) -> Answer:
    workspace = request.workspace
    action = request.body["action"]
    label_id = _find_label(request, action)
    references = request.body["messages"]
    if action in WITHOUT_LABEL:
        WITHOUT_LABEL[action](request.tx, workspace.id, references, ignore_outgoing=True)
        return no_content()
    chosen = message_actions.select_incoming(request.tx, workspace.id, references, ignore_outgoing=True)
    if label_id is not None:
        change = message_actions.add_label if action == "label" else message_actions.remove_label
        change(request.tx, workspace.id, chosen.ids, label_id)
    return no_content()


def _find_label(request: Request, action: str) -> int | None:
    """The label of the action; None for actions without a label, or if there is no label with the name to remove."""
    uuid, name = request.body.get("label_uuid") or None, request.body.get("label") or None
    if action in WITHOUT_LABEL:
        if uuid or name:
            raise InvalidInput.across(f'The action "{action}" takes no label.')
        return None
    if uuid is not None:
        label_id = labels.find_label(request.tx, request.workspace.id, uuid) if is_uuid(uuid) else None
        return must_exist(label_id, "label_uuid", uuid)
    if name is None:
        raise InvalidInput.across(f'The action "{action}" needs a label.')
    refuse_signs(name, "label")
    if action == "label":
        return labels.ensure_label(request.tx, request.workspace.id, name, field="label")
    return labels.find_label_by_name(request.tx, request.workspace.id, name)
