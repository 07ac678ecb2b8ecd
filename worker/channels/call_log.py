"""What is kept of a call to a gateway: the request and the response without secrets."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from persistence.channels.gateway_calls import ACCEPTED, REFUSED, UNANSWERED, GatewayCall
from persistence.channels.gateway_leases import GatewaySend
from persistence.channels.types import TYPES
from persistence.deliveries.hiding import HIDDEN, hide_in_text, is_secret_name
from worker.channels.senders import GatewayRequest
from worker.http.safe_http import HttpResponse

PER_SECOND, BURST = 10.0, 100.0
"""How many calls of one outcome are kept of a gateway; of more there is a sample."""
BODY_LENGTH, ANSWER_BYTES, URL_LENGTH = 2000, 1000, 2048
SHORTEST_SECRET = 4
SECRET_SEGMENT = re.compile(r"(?<=/)(?=[^/?#]*[0-9])(?=[^/?#]*[A-Za-z])[A-Za-z0-9_.~-]{20,}(?=[/?#]|\Z)")
"""A part of a path that is a token rather than a word. UUIDs of messages, which are in no template, look like this."""


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


def describe_call(
    send: GatewaySend,
    request: GatewayRequest,
    *,
    outcome: str,
    response: HttpResponse | None = None,
    error: str | None = None,
    seconds: float,
) -> GatewayCall:
    """The call as it is kept. What the gateway's settings hold that may be a secret is hidden wherever it appears."""
    hide = _hider(send)
    body = None if request.body is None else hide_in_text(hide(_read(request.body)))[:BODY_LENGTH]
    answer = None if response is None else hide_in_text(hide(_read(response.body[:ANSWER_BYTES])))
    return GatewayCall(
        workspace_id=send.workspace_id,
        channel_id=send.channel_id,
        contact_id=send.contact_id,
        message_id=send.message_id,
        part=send.part,
        outcome=outcome,
        method=request.method,
        url=SECRET_SEGMENT.sub(HIDDEN, _hide_in_query(hide(request.url)))[:URL_LENGTH],
        headers={name: HIDDEN if is_secret_name(name) else hide(value) for name, value in request.headers.items()},
        body=body,
        status=None if response is None else response.status,
        answer=answer,
        error=None if error is None else hide(error),
        duration_ms=round(seconds * 1000),
    )


def outcome_of(*, is_accepted: bool, is_answered: bool) -> str:
    return ACCEPTED if is_accepted else REFUSED if is_answered else UNANSWERED


def _read(content: bytes) -> str:
    return content.decode(errors="replace").replace("\x00", "\ufffd")


def _hide_in_query(url: str) -> str:
    """A URL without the values of parameters that are named like secrets."""
    head, mark, query = url.partition("?")
    return head + mark + "&".join(_hide_value(pair) for pair in query.split("&"))


def _hide_value(pair: str) -> str:
    name, mark, _ = pair.partition("=")
    return f"{name}={HIDDEN}" if mark and is_secret_name(name) else pair


def _hider(send: GatewaySend) -> Callable[[str], str]:
    secrets = _list_secrets(send.channel_type, send.config or {})
    forms = {form for each in secrets for form in (each, quote(each, safe=""), quote_plus(each))}
    if not forms:
        return lambda text: text
    pattern = re.compile("|".join(re.escape(each) for each in sorted(forms, key=len, reverse=True)))
    return lambda text: pattern.sub(HIDDEN, text)


def _list_secrets(channel_type: str, config: Mapping[str, Any]) -> Iterator[str]:
    """The values of secret settings, and parameters of URLs that are the same in each request."""
    for setting in TYPES[channel_type].settings:
        value = str(config.get(setting.name) or "")
        if setting.kind == "secret":
            yield from (each for each in (value, *value.split()) if len(each) >= SHORTEST_SECRET)
        elif setting.kind == "url":
            yield from (each for _, each in parse_qsl(urlsplit(value).query) if len(each) >= SHORTEST_SECRET)
    for name, value in dict(config.get("headers") or {}).items():
        if is_secret_name(str(name)) and len(str(value)) >= SHORTEST_SECRET:
            yield str(value)
