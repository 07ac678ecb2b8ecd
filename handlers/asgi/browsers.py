"""What tells requests of our own pages from those of other sites: the cookie and the origin."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from persistence.errors import NotAllowed

COOKIE = "relayboard_session"
KNOWN_COOKIE = "relayboard_browser"
OWN_SITE = ("same-origin", "none")
OTHER_ORIGIN = "A page of another origin cannot use the cookie of this one."


def cookie_in(header: str, cookie: str = COOKIE) -> str | None:
    """The value of one of our cookies in a Cookie header."""
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == cookie and value:
            return value
    return None


def check_origin(headers: Mapping[str, str], base_url: str) -> None:
    """Raises NotAllowed for a request that a browser sends for a page of another origin: browsers add `Origin` to every
    change and `Sec-Fetch-Site` to every request. Our own origin has the host of the request or that of the base URL.
    """
    if headers.get("sec-fetch-site", OWN_SITE[0]) not in OWN_SITE:
        raise NotAllowed(OTHER_ORIGIN)
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc not in {headers.get("host", ""), urlsplit(base_url).netloc} - {
        ""
    }:
        raise NotAllowed(OTHER_ORIGIN)


def make_cookie(value: str, *, is_secure: bool, seconds: int, cookie: str = COOKIE) -> str:
    """The Set-Cookie header; with 0 seconds the browser forgets the cookie."""
    secure = "; Secure" if is_secure else ""
    return f"{cookie}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
