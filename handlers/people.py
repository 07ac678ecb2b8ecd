"""What handlers of people's own accounts share."""

from collections.abc import Callable

from handlers.answers import Answer
from handlers.asgi.request_body import KNOWN_COOKIE, make_cookie
from handlers.errors import seconds_until
from handlers.request import PersonRequest, actor_of
from persistence.accounts.accounts import Attempts
from persistence.accounts.sign_ins import read_sign_ins
from persistence.accounts.signing_in import Door, SignedIn, SignInFailed
from persistence.audit import tell_failed_sign_in
from persistence.tokens import Credentials

SECONDS_PER_DAY = 86_400
KNOWN_SECONDS = 400 * SECONDS_PER_DAY
"""The longest time for which browsers keep a cookie."""


def door_of(request: PersonRequest) -> Door:
    service = request.service
    who = request.credentials
    actor = None if who is None else actor_of(who, request.browser.address)
    return Door(service.database, service.settings, service.passwords, request.browser, request.key, actor)


def person_in(request: PersonRequest) -> Credentials:
    """Who is signed in, in operations for which the contract asks for a cookie."""
    assert request.credentials is not None
    return request.credentials


def answer_session(request: PersonRequest, sign_in: Callable[[], SignedIn]) -> Answer:
    """A new session, with its cookie, the one by which the browser is known later, and what is left of the attempts to
    sign in. The audit log is told of a failure, by the same steps whether there is such an account or not."""
    try:
        signed_in = sign_in()
    except SignInFailed as failed:
        email, address = failed.email, request.browser.address
        request.service.database.write(lambda tx: tell_failed_sign_in(tx, email, address))
        raise
    with request.service.database.reading() as tx:
        (record,) = read_sign_ins(tx, signed_in.user_id, signed_in.sign_in_id)
    is_secure = request.root.startswith("https:")
    known = make_cookie(signed_in.known, is_secure=is_secure, seconds=KNOWN_SECONDS, cookie=KNOWN_COOKIE)
    cookies = (cookie_of(request, signed_in.key), known)
    return Answer(201, record, limit_headers(request, signed_in.attempts), cookies=cookies)


def limit_headers(request: PersonRequest, attempts: Attempts) -> dict[str, str]:
    """What is left of the attempts to sign in."""
    return {
        "RateLimit-Limit": str(attempts.limit),
        "RateLimit-Remaining": str(attempts.remaining),
        "RateLimit-Reset": str(seconds_until(attempts.ends_on, request.service.database.clock())),
    }


def cookie_of(request: PersonRequest, key: str | None) -> str:
    """The Set-Cookie header with the secret of a sign-in; with None the browser forgets it."""
    seconds = 0 if key is None else round(request.service.settings.sign_in_days * SECONDS_PER_DAY)
    return make_cookie(key or "", is_secure=request.root.startswith("https:"), seconds=seconds)
