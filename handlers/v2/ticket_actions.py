"""`/api/v2/ticket_actions.json`."""

from handlers.answers import Answer, as_json, no_content
from handlers.request import Request
from persistence.errors import InvalidInput
from persistence.sql.names import must_exist
from persistence.tickets import actions as ticket_actions
from persistence.tickets.actions import ChosenTicket
from persistence.tickets.assignees import find_assignee
from persistence.topics import find_topic


def act_on_tickets(request: Request) -> Answer:
    chosen = ticket_actions.choose_tickets(request.tx, request.workspace.id, request.body["tickets"])
    failures = ACTIONS[request.body["action"]](request, chosen)
    return as_json(200, {"failures": failures}) if failures else no_content()


def _assign(request: Request, chosen: list[ChosenTicket]) -> list[str]:
    if "assignee" not in request.body:
        raise InvalidInput.across('The action "assign" needs an assignee, which may be null.')
    email: str = request.body["assignee"] or ""
    assignee_id = find_assignee(request.tx, request.workspace.id, email) if email else None
    user_id = request.credentials.user_id
    return ticket_actions.assign_tickets(request.tx, request.workspace.id, chosen, assignee_id, user_id)


def _add_note(request: Request, chosen: list[ChosenTicket]) -> list[str]:
    note: str = request.body.get("note") or ""
    if not note:
        raise InvalidInput.across('The action "add_note" needs a note.')
    return ticket_actions.add_note(request.tx, request.workspace.id, chosen, note, request.credentials.user_id)


def _change_topic(request: Request, chosen: list[ChosenTicket]) -> list[str]:
    reference: str = request.body.get("topic") or ""
    if not reference:
        raise InvalidInput.across('The action "change_topic" needs a topic.')
    topic_id = must_exist(find_topic(request.tx, request.workspace.id, reference), "topic", reference)
    return ticket_actions.change_topic(request.tx, request.workspace.id, chosen, topic_id, request.credentials.user_id)


def _close(request: Request, chosen: list[ChosenTicket]) -> list[str]:
    return ticket_actions.close_tickets(request.tx, request.workspace, chosen, request.credentials.user_id)


def _reopen(request: Request, chosen: list[ChosenTicket]) -> list[str]:
    return ticket_actions.reopen_tickets(request.tx, request.workspace, chosen, request.credentials.user_id)


ACTIONS = {
    "assign": _assign,
    "add_note": _add_note,
    "change_topic": _change_topic,
    "close": _close,
    "reopen": _reopen,
}
