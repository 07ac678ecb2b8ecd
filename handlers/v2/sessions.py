"""`/api/v2/sessions.json`: the browsers in which a person is signed in (sign-ins, in persistence). With a mailed link:
`sign_in_links.json` and `link_sessions.json`.
"""

from handlers.answers import Answer, ListAnswer
from handlers.people import answer_session, cookie_of, door_of, limit_headers, person_in
from handlers.request import PersonRequest
from persistence.accounts.sign_ins import SIGN_INS, end_by_key, end_sign_in
from persistence.accounts.signing_in import ask_for_link, sign_in_by_link, sign_in_by_password
from persistence.database import Transaction

list_sessions = ListAnswer(SIGN_INS)


def create_session(request: PersonRequest) -> Answer:
    body = request.body
    door, email, password = door_of(request), body["email"], body["password"]
    return answer_session(request, lambda: sign_in_by_password(door, email, password, body.get("code")))


def delete_session(request: PersonRequest) -> Answer:
    who, service, uuid = person_in(request), request.service, request.query.get("uuid")

    def end(tx: Transaction) -> None:
        if uuid is not None:
            end_sign_in(tx, who.user_id, uuid)
        elif request.key is not None:
            end_by_key(tx, request.key, service.secret_keys)

    door_of(request).write(end)
    return Answer(204, cookies=(cookie_of(request, None),) if uuid is None else ())


def create_link_session(request: PersonRequest) -> Answer:
    body = request.body
    return answer_session(request, lambda: sign_in_by_link(door_of(request), body["link"], body.get("code")))


def create_sign_in_link(request: PersonRequest) -> Answer:
    left = ask_for_link(door_of(request), request.body["email"], request.stored_root)
    return Answer(204, None, limit_headers(request, left))
