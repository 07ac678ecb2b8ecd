"""`/api/v2/messages.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page, created
from handlers.request import Call
from persistence.contacts.actions import find_contacts
from persistence.errors import InvalidInput
from persistence.media.media import find_attachments
from persistence.messages import v2 as message_records
from persistence.messages.outgoing import Draft, create_outgoing, read_quick_replies
from persistence.sql.pages import Page, Position


def list_messages(
    call: Call,
    *,
    id: int | None = None,
    uuid: str | None = None,
    broadcast: str | None = None,
    contact: str | None = None,
    folder: str | None = None,
    label: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return message_records.list_messages(
            call.tx,
            workspace.id,
            position,
            size,
            message_id=id,
            uuid=uuid,
            broadcast_reference=broadcast,
            contact_uuid=contact,
            folder=folder,
            label_reference=label,
            before=before,
            after=after,
            masked=workspace.is_anonymous,
        )

    return answer_page(call, message_records.messages_order(folder, label), fetch)


def create_message(call: Call) -> Answer:
    workspace = call.workspace
    body = call.body
    if not body.get("text") and not body.get("attachments"):
        raise InvalidInput.across("A text or an attachment is needed.")
    contact_id = find_contacts(call.tx, workspace, [body["contact"]], field="contact")[0]
    draft = Draft(
        contact_id,
        text=body.get("text") or "",
        attachments=tuple(find_attachments(call.tx, workspace.id, body.get("attachments") or [])),
        quick_replies=tuple(read_quick_replies(body.get("quick_replies") or [])),
    )
    message_id = create_outgoing(call.tx, workspace.id, [draft])[0]
    return created(message_records.read_message(call.tx, workspace.id, message_id, masked=workspace.is_anonymous))
