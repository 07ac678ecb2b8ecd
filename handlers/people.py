"""What handlers of people's own accounts share."""

from handlers.asgi.browsers import make_cookie
from handlers.request import PersonRequest
from persistence.accounts.signing_in import Door
from persistence.tokens import Credentials

SECONDS_PER_DAY = 86_400


def door_of(request: PersonRequest) -> Door:
    service = request.service
    return Door(service.database, service.settings, service.passwords, request.browser, request.key)


def person_in(request: PersonRequest) -> Credentials:
    """Who is signed in, in operations for which the contract asks for a cookie."""
    assert request.credentials is not None
    return request.credentials


def cookie_of(request: PersonRequest, key: str | None) -> str:
    """The Set-Cookie header with the secret of a sign-in; with None the browser forgets it."""
    seconds = 0 if key is None else round(request.service.settings.sign_in_days * SECONDS_PER_DAY)
    return make_cookie(key or "", is_secure=request.root.startswith("https:"), seconds=seconds)
