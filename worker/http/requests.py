"""What a request looks like on the wire, and to whom it goes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from urllib3.util import parse_url

from flows.engine.webhook_calls import FORBIDDEN_HEADERS
from flows.header_values import is_header_value
from worker.http.connections import Origin
from worker.http.errors import SendFailed

URL_LENGTH = 16_384
"""A flow's URL may have half of it; encoding makes it longer."""
URLS_KNOWN = 1024
USUAL = {"User-Agent": "Relayboard", "Accept": "*/*", "Accept-Encoding": "identity"}
"""What requests say that say nothing else about it."""
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
PORTS = {"http": 80, "https": 443}
WITH_LENGTH = ("POST", "PUT", "PATCH")
"""Methods whose requests tell the length of a body that they do not have."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: `host` is who is connected to, `name` who has to be there."""

    origin: Origin
    host: str
    port: int
    name: str
    is_secure: bool
    authority: str
    path: str


def check_url(url: str) -> None:
    """Raises SendFailed if a URL can never be called: not http or https, no host, too long, or with a user name."""
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError as error:
        raise SendFailed("url", "The URL is not valid.") from error
    if parts.scheme not in ("http", "https"):
        raise SendFailed("url", "The URL must begin with http:// or https://.")
    if not parts.hostname or not has_port or any(character.isspace() or character < " " for character in url):
        raise SendFailed("url", "The URL is not valid.")
    if "@" in parts.netloc:
        raise SendFailed("url", "The URL must not contain a user name or password.")
    if len(url) > URL_LENGTH:
        raise SendFailed("url", f"The URL is longer than {URL_LENGTH} characters.")


def check_headers(headers: Mapping[str, str]) -> None:
    """Raises SendFailed for headers that only this service may set, and for values that contain line breaks."""
    for name, value in headers.items():
        if name.strip().lower() in FORBIDDEN_HEADERS:
            raise SendFailed("header", f"The header {name} may not be set.")
        if not TOKEN.match(name) or not is_header_value(value):
            raise SendFailed("header", f"The header {name[:64]!r} is not valid.")


@lru_cache(URLS_KNOWN)
def read_target(url: str) -> Target:
    """Where a URL leads. Raises SendFailed, and ValueError for what no URL may contain."""
    check_url(url)
    parsed = parse_url(url)
    scheme, host = parsed.scheme or "", (parsed.host or "").strip("[]")
    port = parsed.port or PORTS[scheme]
    name = host.rstrip(".")
    written = f"[{name}]" if ":" in name else name
    is_secure = scheme == "https"
    authority = written if port == PORTS[scheme] else f"{written}:{port}"
    return Target((is_secure, host, port), host, port, name, is_secure, authority, parsed.request_uri)


def write_request(method: str, target: Target, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """The bytes of a request. Raises SendFailed, and ValueError for what no method may contain."""
    check_headers(headers)
    if not TOKEN.match(method):
        raise ValueError(method)
    given = {name.lower() for name in headers}
    usual = {name: value for name, value in USUAL.items() if name.lower() not in given}
    lines = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}"]
    if body is not None or method in WITH_LENGTH:
        lines.append(f"Content-Length: {len(body or b'')}")
    lines += [f"{name}: {value}" for name, value in (*usual.items(), *headers.items())]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + (body or b"")
