"""`/api/v2/messages.json`, `message_matches.json` and `message_actions.json`."""

from dataclasses import replace

from flows.environment import parse_moment
from handlers.answers import Answer, ListAnswer, as_json, created, no_content
from handlers.request import Request
from persistence import labels
from persistence.contacts.owners import find_contacts
from persistence.errors import InvalidInput, NothingFound, RecordMissing
from persistence.media.store import find_attachments
from persistence.messages import actions as message_actions
from persistence.messages.outgoing import Draft, create_shown, read_quick_replies, route_one
from persistence.messages.records import MESSAGES
from persistence.messages.saved_replies import do_beside
from persistence.messages.templated import find_wish
from persistence.sql.names import must_exist

list_messages = ListAnswer(MESSAGES)
find_messages = ListAnswer(replace(MESSAGES, is_followed=False))

WITHOUT_LABEL = {
    "archive": message_actions.archive_messages,
    "restore": message_actions.restore_messages,
    "delete": message_actions.delete_messages,
}
RESEND = "resend"


def create_message(request: Request) -> Answer:
    workspace = request.workspace
    body = request.body
    has_content = any(body.get(name) for name in ("text", "attachments", "template"))
    if not has_content and not body.get("replaces"):
        raise InvalidInput.across("A text, an attachment or a template is required.")
    contact_id = find_contacts(request.tx, workspace, [body["contact"]], field="contact")[0]
    replaced = _find_replaced(request, contact_id)
    written = Draft(
        contact_id,
        text=body.get("text") or "",
        attachments=tuple(find_attachments(request.tx, workspace.id, body.get("attachments") or [])),
        quick_replies=tuple(read_quick_replies(body.get("quick_replies") or [])),
        template=find_wish(request.tx, workspace.id, body),
    )
    draft = replaced[1] if replaced is not None and not has_content else written
    due_on = parse_moment(body["send_on"]) if body.get("send_on") else None
    draft = draft._replace(author_id=request.credentials.user_id, due_on=due_on)
    if body.get("saved_reply"):
        who = request.credentials.user_id, request.areas
        do_beside(request.tx, workspace, body["saved_reply"], contact_id, *who)
    routed = route_one(request.tx, workspace.id, draft)
    if replaced is not None:
        message_actions.take_back(request.tx, workspace.id, replaced[0], "replaces")
    return created(create_shown(request.tx, workspace, routed))


def delete_message(request: Request, *, uuid: str) -> Answer:
    found = message_actions.find_waiting(request.tx, request.workspace.id, uuid)
    if found is None:
        raise RecordMissing
    message_actions.take_back(request.tx, request.workspace.id, found[0], "uuid")
    return no_content()


def _find_replaced(request: Request, contact_id: int) -> tuple[int, Draft] | None:
    """The message that the new one takes the place of."""
    uuid: str | None = request.body.get("replaces")
    if uuid is None:
        return None
    found = message_actions.find_waiting(request.tx, request.workspace.id, uuid)
    if found is None or found[1].contact_id != contact_id:
        raise NothingFound("replaces", uuid)
    return found


def act_on_messages(request: Request) -> Answer:
    workspace = request.workspace
    action = request.body["action"]
    label_id = _find_label(request, action)
    references = request.body["messages"]
    if action in WITHOUT_LABEL:
        missing = WITHOUT_LABEL[action](request.tx, workspace.id, references)
    elif action == RESEND:
        author_id = request.credentials.user_id
        missing = message_actions.resend_messages(request.tx, workspace.id, references, author_id=author_id)
    else:
        chosen = message_actions.select_incoming(request.tx, workspace.id, references)
        missing = chosen.missing
        if label_id is not None:
            change = message_actions.add_label if action == "label" else message_actions.remove_label
            change(request.tx, workspace.id, chosen.ids, label_id)
    return as_json(200, {"failures": missing}) if missing else no_content()


def _find_label(request: Request, action: str) -> int | None:
    """The label of the action; None if there is nothing to do, or for actions without a label."""
    reference: str | None = request.body.get("label") or None
    name: str = request.body.get("label_name") or ""
    if action in (*WITHOUT_LABEL, RESEND):
        if reference or name:
            raise InvalidInput.across(f'The action "{action}" takes no label.')
        return None
    if bool(reference) == bool(name):
        raise InvalidInput.across(f'The action "{action}" needs either a label or a label_name.')
    if reference is not None:
        return must_exist(labels.find_label(request.tx, request.workspace.id, reference), "label", reference)
    if action == "label":
        return labels.ensure_label(request.tx, request.workspace.id, name, field="label_name")
    return labels.find_label_by_name(request.tx, request.workspace.id, name)
