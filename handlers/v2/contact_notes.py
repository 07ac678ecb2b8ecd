"""`/api/v2/contact_notes.json`."""

from handlers.answers import Answer, ListAnswer, created_record, no_content
from handlers.request import Request
from persistence.contacts.owners import find_contacts
from persistence.contacts.timeline import CONTACT_NOTES, delete_note, write_note

list_contact_notes = ListAnswer(CONTACT_NOTES)


def create_contact_note(request: Request) -> Answer:
    workspace = request.workspace
    (contact_id,) = find_contacts(request.tx, workspace, [request.body["contact"]], field="contact")
    note_id = write_note(request.tx, workspace.id, contact_id, request.credentials.user_id, request.body["text"])
    return created_record(request, CONTACT_NOTES, note_id)


def delete_contact_note(request: Request, *, uuid: str) -> Answer:
    own_of = request.credentials.user_id if request.is_agent else None
    delete_note(request.tx, request.workspace.id, uuid, own_of=own_of)
    return no_content()
