"""Calls URLs, for webhooks and resthooks (flow format, webhooks)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote, urlsplit

from flows.definition.action_types import FAILURE, SUCCESS
from flows.engine.services import WebhookReply, WebhookRequest
from flows.engine.visit import Visit, describe_webhook, to_plain
from flows.expressions.conversions import read_document
from flows.expressions.evaluator import cut_text
from flows.expressions.values import Property, Value, XObject
from flows.words import CONTROL_CHARACTER

HTTP_GONE = 410
SHOWN_URL_CHARACTERS = 255
FORBIDDEN_HEADERS = frozenset(
    {
        *("connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade"),
    }
)
"""These headers control how a request is transferred, which only the sender may decide; wrong ones break the request
or smuggle another one."""
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
_UNENCODED = re.compile(r"%(?![0-9A-Fa-f]{2})|[^!#$%&'()*+,/:;=?@\[\]\w.~-]|[^\W\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """A call, its response, its outcome, and the JSON in the response if there is any."""

    request: WebhookRequest
    reply: WebhookReply
    status: str
    json: Value
    resthook: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the call succeeded."""
        return self.status == "success"

    @property
    def status_code(self) -> int:
        """The status code of the response; 0 if there was none or it was incomplete."""
        return 0 if self.reply.is_oversized else self.reply.status_code


def encode_url(url: str, limit: int) -> str:
    """The URL to call: what an expression inserted unencoded, such as the space in a name, is percent-encoded, and
    what is encoded already is kept. An empty string if it cannot be called."""
    if len(url) > limit or _CONTROL_CHARACTER.search(url):
        return ""
    try:
        parts = urlsplit(url)
        has_port = (parts.port or 1) > 0
    except ValueError:
        return ""
    is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and has_port
    if not is_whole or any(character.isspace() for character in parts.netloc):
        return ""
    start = len(parts.scheme) + len("://") + len(parts.netloc)
    return url[:start] + _UNENCODED.sub(lambda match: quote(match.group(), safe=""), url[start:])


def list_header_problems(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The names of headers that cannot be sent, each with the reason."""
    problems = []
    for name, value in headers.items():
        if name.strip().lower() in FORBIDDEN_HEADERS:
            problems.append((name, f"Webhook header '{name}' may not be set"))
        elif CONTROL_CHARACTER.search(name + value):
            problems.append((name, f"Webhook header '{name}' evaluated to more than one line"))
    return problems


def count_bytes(request: WebhookRequest) -> int:
    """The size of a request as it is sent: its first line, its headers and its body."""
    first = len(request.method) + len(request.url.encode()) + len("  HTTP/1.1\r\n")
    headers = sum(len(name.encode()) + len(value.encode()) + len(": \r\n") for name, value in request.headers.items())
    return first + headers + len("\r\n") + len(request.body.encode())


def make_call(visit: Visit, request: WebhookRequest, resthook: str = "") -> CallOutcome | None:
    """Makes a call; None, with an error event, when the host cannot make calls at all or not to this domain."""
    service = visit.sprint.services.webhook
    if service is None:
        visit.log.error("No webhook service available")
        return None
    reply: WebhookReply = service.call(request)
    if reply.blocked_hostname:
        hostname = cut_text(reply.blocked_hostname, SHOWN_URL_CHARACTERS)
        visit.log.error(f"Webhook calls to '{hostname}' are blocked", "url:blocked", {"hostname": hostname})
        return None
    if reply.problem:
        hostname = urlsplit(request.url).hostname or ""
        visit.log.error(reply.problem, "url:blocked", {"hostname": cut_text(hostname, SHOWN_URL_CHARACTERS)})
    if reply.is_oversized:
        visit.log.warning("Webhook response exceeds the size limit and was cut off", "webhook:response_size")
    return CallOutcome(request, reply, call_status(reply, resthook), read_body(reply), resthook)


def save_call_result(visit: Visit, name: str, outcome: CallOutcome) -> None:
    """Saves the status code of a call as a result, with a small JSON response as its extra."""
    is_small = len(outcome.reply.body) < visit.options.webhook_kept_bytes
    extra = to_plain(outcome.json) if outcome.json is not None and is_small else None
    category = SUCCESS if outcome.is_success else FAILURE
    text_input = describe_webhook(outcome.request.method, outcome.request.url)
    value = str(Decimal(outcome.status_code))
    visit.save_result(name, value, category, text_input=text_input, extra=extra)


def call_status(reply: WebhookReply, resthook: str = "") -> str:
    """The outcome of a call: success, response_error, connection_error, or subscriber_gone for a resthook."""
    if not reply.status_code or reply.is_oversized:
        return "connection_error"
    if reply.status_code == HTTP_GONE and resthook:
        return "subscriber_gone"
    return "success" if 200 <= reply.status_code < 300 else "response_error"


def read_body(reply: WebhookReply) -> Value:
    """The JSON of a response with any content type; None if it is not JSON or was cut off."""
    if not reply.status_code or reply.is_oversized:
        return None
    return read_document(reply.body.decode("utf-8", "replace"))


def log_call(visit: Visit, outcome: CallOutcome) -> None:
    """Logs a call with its traces."""
    reply, limit = outcome.reply, visit.options.webhook_trace_characters
    fields: dict[str, Any] = {"url": outcome.request.url, "status": outcome.status}
    if reply.status_code:
        fields["status_code"] = reply.status_code
    fields["request"] = cut_text(_clean(reply.request_trace), limit)
    if reply.response_trace:
        fields["response"] = cut_text(_clean(reply.response_trace), limit)
    fields |= {"elapsed_ms": reply.elapsed_ms, "retries": reply.retries}
    if outcome.resthook:
        fields["resthook"] = outcome.resthook
    if not visit.options.is_early:
        fields["sizes"] = {"request": reply.request_bytes, "response": reply.response_bytes}
    elif reply.status_code:
        fields["extraction"] = _extraction(outcome)
    visit.log.add("webhook_called", fields)


def remember_call(visit: Visit, outcome: CallOutcome) -> None:
    """Makes a call `@webhook`: all of it in this sprint, in later ones only if it is small."""
    run, reply = visit.run, outcome.reply
    if visit.options.is_early:
        visit.sprint.webhooks[run.uuid] = outcome.json
        kept: Any = to_plain(outcome.json)
    else:
        headers: dict[str, Property] | None = None if reply.headers is None else dict(reply.headers)
        method, url = outcome.request.method, outcome.request.url
        properties: dict[str, Property] = {
            "status": Decimal(outcome.status_code),
            "headers": XObject(headers or {}),
            "json": outcome.json,
        }
        visit.sprint.webhooks[run.uuid] = XObject(properties, default=describe_webhook(method, url))
        plain = {"method": method, "url": url, "status": outcome.status_code, "headers": headers}
        kept = {**plain, "json": to_plain(outcome.json)}
    run.webhook = kept if len(reply.body) <= visit.options.webhook_kept_bytes else None


def _extraction(outcome: CallOutcome) -> str:
    if not outcome.reply.body:
        return "none"
    return "ignored" if outcome.json is None else "valid"


def _clean(text: str) -> str:
    return text.replace("\x00", "")
