"""`/api/v2/tickets.json` and `ticket_actions.json`."""

from handlers.answers import Answer, ListAnswer, as_json, created_record, no_content
from handlers.request import Request
from persistence.contacts.owners import find_contacts
from persistence.contacts.participants import find_mentioned, mention
from persistence.errors import InvalidInput
from persistence.sql.names import must_exist
from persistence.tickets import actions as ticket_actions
from persistence.tickets.actions import ChosenTicket, NewTicket, open_ticket
from persistence.tickets.records import TICKETS, find_assignee
from persistence.tickets.topics import find_topic

list_tickets = ListAnswer(TICKETS)


def create_ticket(request: Request) -> Answer:
    tx, workspace, body = request.tx, request.workspace, request.body
    (contact_id,) = find_contacts(tx, workspace, [body["contact"]], field="contact")
    topic, email = body.get("topic"), body.get("assignee")
    new = NewTicket(
        contact_id,
        topic_id=must_exist(find_topic(tx, workspace.id, topic), "topic", topic) if topic else None,
        assignee_id=find_assignee(tx, workspace.id, email) if email else None,
        note=(body.get("note") or "").strip() or None,
        opened_by_id=request.credentials.user_id,
        is_attended=request.credentials.sign_in_id is not None,
    )
    ticket_id = open_ticket(tx, workspace, new)
    if ticket_id is None:
        raise InvalidInput.on("contact", "This contact has an open ticket already.")
    return created_record(request, TICKETS, ticket_id)


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
    tx, workspace_id = request.tx, request.workspace.id
    mentioned = find_mentioned(tx, workspace_id, request.body.get("mentions") or [])
    unchanged = ticket_actions.add_note(tx, workspace_id, chosen, note, request.credentials.user_id)
    mention(tx, workspace_id, {each.contact_id for each in chosen}, mentioned)
    return unchanged


def _change_topic(request: Request, chosen: list[ChosenTicket]) -> list[str]:
    reference: str = request.body.get("topic") or ""
    if not reference:
        raise InvalidInput.across('The action "change_topic" needs a topic.')
    topic_id = must_exist(find_topic(request.tx, request.workspace.id, reference), "topic", reference)
    return ticket_actions.change_topic(request.tx, request.workspace, chosen, topic_id, request.credentials.user_id)


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
