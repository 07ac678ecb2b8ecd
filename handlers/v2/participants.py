"""`/api/v2/participants.json`."""

from handlers.answers import Answer, ListAnswer, no_content
from handlers.request import Request
from persistence.contacts.owners import find_contacts
from persistence.participants import PARTICIPANTS, attend

list_participants = ListAnswer(PARTICIPANTS)


def attend_conversation(request: Request) -> Answer:
    (contact_id,) = find_contacts(request.tx, request.workspace, [request.body["contact"]], field="contact")
    attend(request.tx, request.workspace.id, contact_id, request.credentials.user_id, request.body["state"])
    return no_content()
