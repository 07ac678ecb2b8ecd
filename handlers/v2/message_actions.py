"""`/api/v2/message_actions.json`."""

from handlers.answers import Answer, as_json, no_content
from handlers.request import Call
from persistence import labels
from persistence.errors import InvalidInput
from persistence.messages import actions as message_actions

WITHOUT_LABEL = {
    "archive": message_actions.archive_messages,
    "restore": message_actions.restore_messages,
    "delete": message_actions.delete_messages,
}


def act_on_messages(call: Call) -> Answer:
    workspace = call.workspace
    action = call.body["action"]
    label_id = _find_label(call, action)
    chosen = message_actions.select_incoming(call.tx, workspace.id, call.body["messages"])
    if action in WITHOUT_LABEL:
        WITHOUT_LABEL[action](call.tx, workspace.id, chosen.ids)
    elif label_id is not None:
        change = message_actions.add_label if action == "label" else message_actions.remove_label
        change(call.tx, workspace.id, chosen.ids, label_id)
    return as_json(200, {"failures": chosen.missing}) if chosen.missing else no_content()


def _find_label(call: Call, action: str) -> int | None:
    """The label the action speaks of; None where there is nothing to do, or no label is taken."""
    reference: str | None = call.body.get("label") or None
    name: str = call.body.get("label_name") or ""
    if action in WITHOUT_LABEL:
        if reference or name:
            raise InvalidInput.across(f'The action "{action}" takes no label.')
        return None
    if bool(reference) == bool(name):
        raise InvalidInput.across(f'The action "{action}" needs either a label or a label_name.')
    if reference is not None:
        label_id = labels.find_label(call.tx, call.workspace.id, reference)
        if label_id is None:
            raise InvalidInput.on("label", f'Nothing found for "{reference[:64]}".')
        return label_id
    if action == "label":
        return labels.ensure_label(call.tx, call.workspace.id, name, field="label_name")
    return labels.find_label_by_name(call.tx, call.workspace.id, name)
