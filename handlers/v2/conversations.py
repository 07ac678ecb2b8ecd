"""`/api/v2/conversations.json`."""

from flows.environment import parse_moment
from handlers.answers import Answer, ListAnswer, no_content
from handlers.request import Request
from persistence.contacts.owners import find_contacts
from persistence.conversations import CONVERSATIONS, mark_read, mark_unread, snooze, unsnooze
from persistence.errors import InvalidInput

SNOOZE, UNREAD = "snooze", "unread"
MARKS = {"read": mark_read, UNREAD: mark_unread, "unsnooze": unsnooze}

list_conversations = ListAnswer(CONVERSATIONS)


def act_on_conversations(request: Request) -> Answer:
    tx, workspace_id = request.tx, request.workspace.id
    action, until, count = request.body["action"], request.body.get("until"), request.body.get("unread_count")
    if (action == SNOOZE) != (until is not None):
        raise InvalidInput.on("until", 'The action "snooze" needs a time, the others take none.')
    if count is not None and action != UNREAD:
        raise InvalidInput.on("unread_count", 'Only the action "unread" takes a number.')
    contact_ids = find_contacts(tx, request.workspace, request.body["contacts"])
    if count is not None:
        mark_unread(tx, workspace_id, contact_ids, count)
    elif until is None:
        MARKS[action](tx, workspace_id, contact_ids)
    else:
        moment = parse_moment(until)
        if moment is None:
            raise InvalidInput.on("until", "A time in the future, within 90 days, is required.")
        snooze(tx, workspace_id, contact_ids, moment, request.credentials.user_id)
    return no_content()
