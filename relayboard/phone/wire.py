"""How a phone writes and signs its requests: JSON once, slashes escaped, plain UTF-8, signed over those very bytes."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

import requests

from relayboard.base.certificates import explain_tls

TIMEOUT_SECONDS = 120.0
REGISTER_PATH = "/relayers/relayer/register/"


def write_body(commands: Sequence[Mapping[str, Any]]) -> bytes:
    """The body of a request: keys without a value are left out, as Android's JSON writer does."""
    kept = [{name: value for name, value in command.items() if value is not None} for command in commands]
    text = json.dumps({"cmds": kept}, ensure_ascii=False, separators=(",", ":"))
    return text.replace("/", "\\/").encode("utf-8")


def sign_body(secret: str, ts: str, body: bytes) -> str:
    """HMAC-SHA256 over the body, keyed with secret and ts, in URL-safe base64 with padding."""
    digest = hmac.new(f"{secret}{ts}".encode(), body, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode()


@dataclass(frozen=True, slots=True)
class WireReply:
    """The status and the JSON object of a reply; the object is empty if there was none."""

    status: int
    document: dict[str, Any]


class NoReply(Exception):
    """The request or its reply was lost."""


class Transport(Protocol):
    """Sends a request to the server; raises NoReply if there is no reply."""

    def post(self, path: str, query: Mapping[str, str], body: bytes) -> WireReply: ...


class HttpTransport:
    """Requests over real HTTP."""

    def __init__(self, server_url: str) -> None:
        self.server_url = server_url.rstrip("/")
        self.session = requests.Session()
        self.session.trust_env = False

    def post(self, path: str, query: Mapping[str, str], body: bytes) -> WireReply:
        headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "RapidPro/13"}
        try:
            response = self.session.post(
                self.server_url + path, params=dict(query), data=body, headers=headers, timeout=TIMEOUT_SECONDS
            )
            document = response.json() if response.content else {}
        except (requests.RequestException, ValueError) as error:
            raise NoReply(f"{_host_of(self.server_url)}{path}: {_reason_of(error)}") from error
        return WireReply(response.status_code, document if isinstance(document, dict) else {})


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return url


def _reason_of(error: Exception) -> str:
    """In words without the URL, whose query has the signature."""
    if isinstance(error, requests.Timeout):
        return f"nothing within {TIMEOUT_SECONDS:.0f} seconds"
    if isinstance(error, requests.JSONDecodeError):
        return "the reply is not JSON"
    if isinstance(error, ValueError):
        return "this is not the URL of a server"
    why = explain_tls(error)
    if why is not None:
        return f"the secure connection failed: {why}"
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and below.strerror:
            return below.strerror
        below = below.__cause__ or below.__context__
    return "the connection was lost"
