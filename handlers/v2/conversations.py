"""`/api/v2/conversations.json`."""

from handlers.answers import Answer, ListAnswer, no_content
from handlers.request import Request
from persistence.contacts.owners import find_contacts
from persistence.conversations import CONVERSATIONS, mark_read

list_conversations = ListAnswer(CONVERSATIONS)


def act_on_conversations(request: Request) -> Answer:
    mark_read(request.tx, request.workspace.id, find_contacts(request.tx, request.workspace, request.body["contacts"]))
    return no_content()
