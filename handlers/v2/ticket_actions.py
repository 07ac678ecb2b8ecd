"""`/api/v2/ticket_actions.json`."""

from handlers.answers import Answer, as_json, no_content
from handlers.request import Call
from persistence.errors import InvalidInput
from persistence.tickets import actions as ticket_actions
from persistence.tickets.actions import ChosenTicket
from persistence.topics import find_topic
from persistence.users import find_member


def act_on_tickets(call: Call) -> Answer:
    chosen = ticket_actions.choose_tickets(call.tx, call.workspace.id, call.body["tickets"])
    failures = ACTIONS[call.body["action"]](call, chosen)
    return as_json(200, {"failures": failures}) if failures else no_content()


def _assign(call: Call, chosen: list[ChosenTicket]) -> list[str]:
    if "assignee" not in call.body:
        raise InvalidInput.across('The action "assign" needs an assignee, which may be null.')
    email: str = call.body["assignee"] or ""
    assignee_id = find_member(call.tx, call.workspace.id, email) if email else None
    if email and assignee_id is None:
        raise InvalidInput.on("assignee", f'Nothing found for "{email[:64]}".')
    user_id = call.credentials.user_id
    return ticket_actions.assign_tickets(call.tx, call.workspace.id, chosen, assignee_id, user_id)


def _add_note(call: Call, chosen: list[ChosenTicket]) -> list[str]:
    note: str = call.body.get("note") or ""
    if not note:
        raise InvalidInput.across('The action "add_note" needs a note.')
    return ticket_actions.add_note(call.tx, call.workspace.id, chosen, note, call.credentials.user_id)


def _change_topic(call: Call, chosen: list[ChosenTicket]) -> list[str]:
    reference: str = call.body.get("topic") or ""
    if not reference:
        raise InvalidInput.across('The action "change_topic" needs a topic.')
    topic_id = find_topic(call.tx, call.workspace.id, reference)
    if topic_id is None:
        raise InvalidInput.on("topic", f'Nothing found for "{reference[:64]}".')
    return ticket_actions.change_topic(call.tx, call.workspace.id, chosen, topic_id, call.credentials.user_id)


def _close(call: Call, chosen: list[ChosenTicket]) -> list[str]:
    return ticket_actions.close_tickets(call.tx, call.workspace, chosen, call.credentials.user_id)


def _reopen(call: Call, chosen: list[ChosenTicket]) -> list[str]:
    return ticket_actions.reopen_tickets(call.tx, call.workspace, chosen, call.credentials.user_id)


ACTIONS = {
    "assign": _assign,
    "add_note": _add_note,
    "change_topic": _change_topic,
    "close": _close,
    "reopen": _reopen,
}
