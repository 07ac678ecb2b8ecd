"""`/api/v2/invitation_sessions.json`: accepting an invitation."""

from handlers.answers import Answer
from handlers.people import answer_session, door_of
from handlers.request import PersonRequest
from persistence.accounts.accepting import Guest, accept_invitation


def create_invitation_session(request: PersonRequest) -> Answer:
    body = request.body
    guest = Guest(body["password"], body.get("first_name", ""), body.get("last_name", ""), body.get("code"))
    return answer_session(request, lambda: accept_invitation(door_of(request), body["invitation"], guest))
