"""`/api/v2/sessions.json`: the browsers in which a person is signed in (sign-ins, in persistence)."""

from handlers.answers import Answer, ListAnswer
from handlers.errors import seconds_until
from handlers.people import cookie_of, door_of, person_in
from handlers.request import PersonRequest
from persistence.accounts.sign_ins import SIGN_INS, end_by_key, end_sign_in
from persistence.accounts.signing_in import read_sign_in, sign_in_by_password
from persistence.database import Transaction

list_sessions = ListAnswer(SIGN_INS)


def create_session(request: PersonRequest) -> Answer:
    service, body = request.service, request.body
    signed_in = sign_in_by_password(door_of(request), body["email"], body["password"], body.get("code"))
    with service.database.reading() as tx:
        record = read_sign_in(tx, signed_in)
    attempts = signed_in.attempts
    headers = {
        "Set-Cookie": cookie_of(request, signed_in.key),
        "RateLimit-Limit": str(attempts.limit),
        "RateLimit-Remaining": str(attempts.remaining),
        "RateLimit-Reset": str(seconds_until(attempts.ends_on, service.database.clock())),
    }
    return Answer(201, record, headers)


def delete_session(request: PersonRequest) -> Answer:
    who, service, uuid = person_in(request), request.service, request.query.get("uuid")

    def end(tx: Transaction) -> None:
        if uuid is not None:
            end_sign_in(tx, who.user_id, uuid)
        elif request.key is not None:
            end_by_key(tx, request.key, service.secret_keys)

    service.database.write(end)
    return Answer(204, None, {"Set-Cookie": cookie_of(request, None)} if uuid is None else None)
