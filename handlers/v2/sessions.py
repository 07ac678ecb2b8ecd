"""`/api/v2/sessions.json`: the browsers in which a person is signed in (sign-ins, in persistence)."""

import math

from handlers.answers import Answer, ListAnswer
from handlers.asgi.browsers import make_cookie
from handlers.errors import TooManyRequests
from handlers.request import PersonRequest
from persistence.accounts.limits import Attempts
from persistence.accounts.sign_ins import SIGN_INS, end_by_key, end_sign_in
from persistence.accounts.signing_in import Door, TooManyAttempts, read_sign_in, sign_in_by_password
from persistence.database import Transaction
from persistence.errors import RecordMissing

list_sessions = ListAnswer(SIGN_INS)

SECONDS_PER_DAY = 86_400


def create_session(request: PersonRequest) -> Answer:
    service, body = request.service, request.body
    door = Door(service.database, service.settings, service.passwords, request.browser, request.key)
    try:
        signed_in = sign_in_by_password(door, body["email"], body["password"], body.get("code"))
    except TooManyAttempts as error:
        raise TooManyRequests(_seconds_left(service.database.clock().timestamp(), error.attempts)) from error
    with service.database.reading() as tx:
        record = read_sign_in(tx, signed_in)
    seconds = round(service.settings.sign_in_days * SECONDS_PER_DAY)
    return Answer(
        201, record, {"Set-Cookie": _cookie(request, signed_in.key, seconds), **_left(request, signed_in.attempts)}
    )


def delete_session(request: PersonRequest) -> Answer:
    uuid = request.query.get("uuid")
    who, service = request.credentials, request.service
    if who is None or request.key is None:
        raise RecordMissing
    key = request.key

    def end(tx: Transaction) -> None:
        if uuid is None:
            end_by_key(tx, key, service.secret_keys)
        else:
            end_sign_in(tx, who.user_id, uuid)

    service.database.write(end)
    return Answer(204, None, {"Set-Cookie": _cookie(request, "", 0)} if uuid is None else None)


def _cookie(request: PersonRequest, value: str, seconds: int) -> str:
    return make_cookie(value, is_secure=request.root.startswith("https:"), seconds=seconds)


def _left(request: PersonRequest, attempts: Attempts) -> dict[str, str]:
    """The limit of attempts, in the headers of all limits."""
    seconds = _seconds_left(request.service.database.clock().timestamp(), attempts)
    return {
        "RateLimit-Limit": str(attempts.limit),
        "RateLimit-Remaining": str(attempts.remaining),
        "RateLimit-Reset": str(seconds),
    }


def _seconds_left(now: float, attempts: Attempts) -> int:
    return max(1, math.ceil(attempts.ends_on.timestamp() - now))
