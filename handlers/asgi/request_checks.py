"""Checks of a request's URL and media type, before any other layer reads them, and what tells requests of our own pages
from those of other sites.
"""

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.types import Scope

from handlers.asgi.plain_responses import Refusal, header
from persistence.errors import NotAllowed

URL_LIMIT_BYTES = 8192
BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
NOT_ASCII = re.compile(rb"[\x80-\xff]")
JSON_TYPE = re.compile(rb'application/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-?8"?[ \t]*)?;?\Z', re.IGNORECASE)
HOST = re.compile(
    r"(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?|\[(?P<address>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?\Z"
)
HOST_LENGTH = 255
LARGEST_PORT = 65_535
FORM_TYPE = re.compile(rb"multipart/form-data[ \t]*;", re.IGNORECASE)

COOKIE = "relayboard_session"
KNOWN_COOKIE = "relayboard_browser"
OWN_SITE = ("same-origin", "none")
OTHER_ORIGIN = "A page of another origin cannot use the cookie of this one."


def check_url(scope: Scope) -> None:
    """Raises Refusal(400) for a URL that is too long, badly escaped, or decodes to something that is not text. Bytes
    beyond ASCII in the query, which some clients send unescaped, become percent escapes.
    """
    raw_path = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    query = scope.get("query_string", b"")
    if len(raw_path) + len(query) > URL_LIMIT_BYTES:
        raise Refusal(400, f"The URL is longer than {URL_LIMIT_BYTES} bytes.")
    for part in (raw_path, query):
        _check_escapes(part)
    if NOT_ASCII.search(query):
        scope["query_string"] = NOT_ASCII.sub(lambda found: b"%%%02X" % found.group()[0], query)


def take_media_type(scope: Scope, plain: bytes) -> bytes | None:
    """The media type that a client declared; it is replaced by `plain` for the next layers. They understand only that
    form, and would otherwise reject the type before the caller is known.
    """
    declared = header(scope, b"content-type")
    others = [pair for pair in scope["headers"] if pair[0].lower() != b"content-type"]
    scope["headers"] = [*others, (b"content-type", plain)]
    return declared


def check_encodings(scope: Scope) -> None:
    """Raises Refusal(415) for a body that is compressed or otherwise encoded, which nobody here decodes."""
    for name, plain in ((b"content-encoding", {"", "identity"}), (b"transfer-encoding", {"", "identity", "chunked"})):
        given = [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
        words = {word.strip().lower() for value in given for word in value.split(",")} - plain
        if words:
            title = name.decode().title()
            text = f"Bodies with the {title} {', '.join(sorted(words))[:100]!r} are not read: send the body as it is."
            raise Refusal(415, text, {"Accept-Encoding": "identity", "Connection": "close"})


def check_json_type(content_type: bytes | None, *, has_body: bool) -> None:
    """Raises Refusal(415) for a body that is declared as anything other than JSON in UTF-8. A request without a media
    type or without a body counts as JSON.
    """
    if has_body and content_type is not None and not JSON_TYPE.match(content_type.strip()):
        raise Refusal(415, "Send JSON.")


def check_form_type(content_type: bytes | None) -> bytes:
    """The media type of a multipart form. Raises Refusal(415) for any other type."""
    if content_type is None or not FORM_TYPE.match(content_type.strip()):
        raise Refusal(415, "Send a multipart form.")
    return content_type


def check_host(scope: Scope) -> None:
    """Raises Refusal(400) unless there is exactly one valid Host header (RFC 9112, 3.2); HTTP/1.0 needs none. URLs in
    responses begin with it.
    """
    given = [value for name, value in scope["headers"] if name.lower() == b"host"]
    if not given and scope.get("http_version") == "1.0":
        return
    if len(given) != 1 or not is_host(given[0].decode("latin-1")):
        raise Refusal(400, "The Host header is not valid.", {"Connection": "close"})


def is_host(text: str) -> bool:
    """Whether this is a name or an IP address (version 6 in brackets), with or without a port."""
    found = HOST.match(text)
    if found is None or len(text) > HOST_LENGTH or int(found["port"] or 0) > LARGEST_PORT:
        return False
    if found["address"] is None:
        return True
    try:
        ipaddress.IPv6Address(found["address"])
    except ValueError:
        return False
    return True


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


def _check_escapes(part: bytes) -> None:
    if BAD_ESCAPE.search(part):
        raise Refusal(400, "The URL is badly escaped.")
    decoded = unquote_to_bytes(part)
    if b"\x00" in decoded:
        name = _name_with_nul(part)
        where = "the path" if name is None else f"the parameter {name}"
        raise Refusal(400, f"NUL characters (%00) are not allowed: there is one in {where}.")
    try:
        decoded.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(400, "The URL is not valid UTF-8.") from error


def _name_with_nul(query: bytes) -> str | None:
    """The parameter of a query in which a NUL stands; None for a path."""
    for pair in query.split(b"&"):
        name, is_pair, value = pair.partition(b"=")
        if is_pair and b"\x00" in unquote_to_bytes(value):
            return unquote_to_bytes(name).decode("utf-8", "replace")[:64]
    return None
