"""`/api/v2/saved_replies.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Request
from persistence.messages import saved_replies
from persistence.messages.saved_replies import SAVED_REPLIES

list_saved_replies = ListAnswer(SAVED_REPLIES)


def write_saved_reply(request: Request, *, uuid: str | None = None) -> Answer:
    tx, workspace_id, body = request.tx, request.workspace.id, request.body
    if uuid is None:
        made = saved_replies.create_saved_reply(tx, workspace_id, body["name"], body)
        return created_record(request, SAVED_REPLIES, made)
    changed = saved_replies.change_saved_reply(tx, workspace_id, uuid, body["name"], body)
    return changed_record(request, SAVED_REPLIES, changed)


def delete_saved_reply(request: Request, *, uuid: str) -> Answer:
    saved_replies.delete_saved_reply(request.tx, request.workspace.id, uuid)
    return no_content()
