"""What is kept of calls to gateways and of theirs, so that the owner of a channel sees what was said: a sample if there
are many, without what may be a secret.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit
from xml.sax.saxutils import escape

from channels.calls import Callback, Request
from channels.declaration import read_headers
from channels.types import TYPES
from persistence.secrets.encryption import HIDDEN, hide_in_text, is_secret_name

PER_SECOND, BURST = 10.0, 100.0
"""How many calls of one outcome are kept of a gateway; of more there is a sample."""
BODY_LENGTH, ANSWER_LENGTH, URL_LENGTH = 2000, 1000, 2048
READ_BYTES = 16 * 1024
"""More than what is kept of an answer: a secret is only known as a whole."""
SHORTEST_SECRET = 4
XML_QUOTES = {'"': "&quot;", "'": "&apos;"}
SECRET_SEGMENT = re.compile(r"(?<=/)(?=[^/?#]*[0-9])(?=[^/?#]*[A-Za-z])[A-Za-z0-9_.~-]{20,}(?=[/?#]|\Z)")
"""A part of a path that is a token rather than a word. UUIDs of messages, which are in no template, look like this."""
UNTOLD_HEADERS = re.compile(
    r"(?:host|connection|content-length|transfer-encoding|cookie|te|via|forwarded|x-forwarded-.*|x-real-ip|accept.*)"
)
"""Headers of the connection and of proxies, which say nothing of the provider."""
MOST_HEADERS, HEADER_LENGTH, METHOD_LENGTH = 30, 500, 8

Config = Mapping[str, Any]


class CallSampler:
    """Lets so many calls of each gateway and outcome through that a busy gateway fills no disk; for many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._left: dict[tuple[int, str], tuple[float, float]] = {}

    def takes(self, channel_id: int, outcome: str) -> bool:
        """Whether this call is kept."""
        now = self._clock()
        with self._lock:
            left, since = self._left.get((channel_id, outcome), (BURST, now))
            left = min(BURST, left + (now - since) * PER_SECOND)
            self._left[channel_id, outcome] = (left - 1 if left >= 1 else left, now)
        return left >= 1


def describe_request(
    channel_type: str,
    config: Config,
    request: Request,
    said: tuple[int, bytes] | None,
    error: str | None,
    secret: str | None = None,
) -> dict[str, Any]:
    """The parts of a GatewayCall that tell a request and what was said to it, the status and the body."""
    hide = _hider(channel_type, config, secret)
    told = "" if said is None else hide_in_text(hide(_read(said[1][:READ_BYTES])))
    return {
        "method": request.method,
        "url": SECRET_SEGMENT.sub(HIDDEN, _hide_in_query(hide(request.url)))[:URL_LENGTH],
        "headers": {name: HIDDEN if is_secret_name(name) else hide(each) for name, each in request.headers.items()},
        "body": None if request.body is None else hide_in_text(hide(_read(request.body)))[:BODY_LENGTH],
        "status": None if said is None else said[0],
        "answer": None if said is None else told[:ANSWER_LENGTH],
        "error": None if error is None else hide(error).replace("\x00", "\ufffd"),
    }


def describe_callback(
    channel_type: str, config: Config, callback: Callback, said: tuple[int, bytes], error: str | None
) -> dict[str, Any]:
    """The same of a gateway's call and our response. The body is read as its characters are."""
    told = [each for each in callback.headers.items() if UNTOLD_HEADERS.fullmatch(each[0]) is None][:MOST_HEADERS]
    headers = {name: value[:HEADER_LENGTH] for name, value in told}
    body = callback.text.encode() if callback.body else None
    request = Request(callback.method[:METHOD_LENGTH], callback.url, headers, body)
    return describe_request(channel_type, config, request, said, error, callback.secret or None)


def _read(content: bytes) -> str:
    return content.decode(errors="replace").replace("\x00", "\ufffd")


def _hide_in_query(url: str) -> str:
    """A URL without the values of parameters that are named like secrets."""
    head, mark, query = url.partition("?")
    return head + mark + "&".join(_hide_value(pair) for pair in query.split("&"))


def _hide_value(pair: str) -> str:
    name, mark, _ = pair.partition("=")
    return f"{name}={HIDDEN}" if mark and is_secret_name(name) else pair


def _hider(channel_type: str, config: Config, secret: str | None) -> Callable[[str], str]:
    secrets = [*_list_secrets(channel_type, config), *([secret] if secret else [])]
    forms = {form for each in secrets for form in _write_variously(each)}
    if not forms:
        return lambda text: text
    pattern = re.compile("|".join(re.escape(each) for each in sorted(forms, key=len, reverse=True)))
    return lambda text: pattern.sub(HIDDEN, text)


def _write_variously(secret: str) -> Iterator[str]:
    """A secret as it is written in URLs, forms, JSON and XML."""
    yield from (secret, quote(secret, safe=""), quote_plus(secret), escape(secret), escape(secret, XML_QUOTES))
    for is_ascii in (True, False):
        written = json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
        yield from (written, written.replace("/", "\\/"))


def hide_secrets(channel_type: str, config: Config, text: str) -> str:
    """What a provider said, without the secrets of the settings."""
    return hide_in_text(_hider(channel_type, config, None)(text))


def _list_secrets(channel_type: str, config: Mapping[str, Any]) -> Iterator[str]:
    """The values of secret settings, and parameters of URLs that are the same in each request."""
    for setting in TYPES[channel_type].settings:
        value = str(config.get(setting.name) or "")
        if setting.kind == "secret":
            yield from (each for each in (value, *value.split()) if len(each) >= SHORTEST_SECRET)
        elif setting.kind == "headers":
            values = read_headers(config.get(setting.name)).values()
            yield from (each for each in values if len(each) >= SHORTEST_SECRET)
        elif setting.kind == "url":
            yield from (each for _, each in parse_qsl(urlsplit(value).query) if len(each) >= SHORTEST_SECRET)
