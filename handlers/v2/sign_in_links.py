"""`/api/v2/sign_in_links.json`: asking for a link by mail."""

from handlers.answers import Answer
from handlers.people import door_of, limit_headers
from handlers.request import PersonRequest
from persistence.accounts.signing_in import ask_for_link


def create_sign_in_link(request: PersonRequest) -> Answer:
    left = ask_for_link(door_of(request), request.body["email"], request.stored_root)
    return Answer(204, None, limit_headers(request, left))
