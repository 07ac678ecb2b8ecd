"""`/api/v2/conversations.json`."""

from handlers.answers import Answer, ListAnswer, no_content
from handlers.request import Request
from persistence.contacts.owners import find_contacts
from persistence.conversations import CONVERSATIONS, mark_read, mark_unread

MARKS = {"read": mark_read, "unread": mark_unread}

list_conversations = ListAnswer(CONVERSATIONS)


def act_on_conversations(request: Request) -> Answer:
    contact_ids = find_contacts(request.tx, request.workspace, request.body["contacts"])
    MARKS[request.body["action"]](request.tx, request.workspace.id, contact_ids)
    return no_content()
