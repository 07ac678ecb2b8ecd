"""`/api/v2/link_sessions.json`: signing in with a mailed link."""

from handlers.answers import Answer
from handlers.people import answer_session, door_of
from handlers.request import PersonRequest
from persistence.accounts.signing_in import sign_in_by_link


def create_link_session(request: PersonRequest) -> Answer:
    body = request.body
    return answer_session(request, lambda: sign_in_by_link(door_of(request), body["link"], body.get("code")))
