"""`/api/v2/messages.json`."""

from handlers.answers import Answer, ListAnswer, created_record
from handlers.request import Request
from persistence.contacts.owners import find_contacts
from persistence.errors import InvalidInput
from persistence.media.media import find_attachments
from persistence.messages.outgoing import Draft, create_outgoing, read_quick_replies
from persistence.messages.v2 import MESSAGES

list_messages = ListAnswer(MESSAGES)


def create_message(request: Request) -> Answer:
    workspace = request.workspace
    body = request.body
    if not body.get("text") and not body.get("attachments"):
        raise InvalidInput.across("A text or an attachment is required.")
    contact_id = find_contacts(request.tx, workspace, [body["contact"]], field="contact")[0]
    draft = Draft(
        contact_id,
        text=body.get("text") or "",
        attachments=tuple(find_attachments(request.tx, workspace.id, body.get("attachments") or [])),
        quick_replies=tuple(read_quick_replies(body.get("quick_replies") or [])),
    )
    return created_record(request, MESSAGES, create_outgoing(request.tx, workspace.id, [draft])[0])
