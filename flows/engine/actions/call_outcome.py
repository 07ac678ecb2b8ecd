"""What came of calls to web addresses (flow format, webhooks)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from flows.engine.actions.contents import cut
from flows.engine.router import to_plain
from flows.engine.services import WebhookReply, WebhookRequest
from flows.engine.visit import Visit, describe_webhook
from flows.expressions.errors import ExpressionError, ExpressionTooComplexError
from flows.expressions.json_reading import read_json
from flows.expressions.values import Property, Value, XObject

HTTP_GONE = 410
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """A call, its reply, how it counts, and the JSON in it if there is any."""

    request: WebhookRequest
    reply: WebhookReply
    status: str
    json: Value
    resthook: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the answer was a good one."""
        return self.status == "success"

    @property
    def status_code(self) -> int:
        """The code of the response; 0 when there was none, or only the beginning of one."""
        return 0 if self.reply.is_oversized else self.reply.status_code


def call_status(reply: WebhookReply, resthook: str = "") -> str:
    """How a call counts: success, response_error, connection_error, or subscriber_gone for a resthook."""
    if not reply.status_code or reply.is_oversized:
        return "connection_error"
    if reply.status_code == HTTP_GONE and resthook:
        return "subscriber_gone"
    return "success" if 200 <= reply.status_code < 300 else "response_error"


def read_body(reply: WebhookReply) -> Value:
    """The JSON of a reply, whatever type it says it has; None if it is none or cut off."""
    if not reply.status_code or reply.is_oversized:
        return None
    # NUL can neither be stored nor sent.
    text = _ESCAPED_NUL.sub(r"\1", _clean(reply.body.decode("utf-8", "replace")))
    try:
        return read_json(text)
    except (ExpressionError, ExpressionTooComplexError):
        return None


def log_call(visit: Visit, outcome: CallOutcome) -> None:
    """Logs a call with its traces."""
    reply, limit = outcome.reply, visit.options.webhook_trace_characters
    fields: dict[str, Any] = {"url": outcome.request.url, "status": outcome.status}
    if reply.status_code:
        fields["status_code"] = reply.status_code
    fields["request"] = cut(_clean(reply.request_trace), limit)
    if reply.response_trace:
        fields["response"] = cut(_clean(reply.response_trace), limit)
    fields |= {"elapsed_ms": reply.elapsed_ms, "retries": reply.retries}
    if outcome.resthook:
        fields["resthook"] = outcome.resthook
    if not visit.options.is_early:
        fields["sizes"] = {"request": reply.request_bytes, "response": reply.response_bytes}
    elif reply.status_code:
        fields["extraction"] = _extraction(outcome)
    visit.log.add("webhook_called", fields)


def remember_call(visit: Visit, outcome: CallOutcome) -> None:
    """Makes a call `@webhook`: all of it for this sprint, for later ones only if it is small."""
    run, reply = visit.run, outcome.reply
    if visit.options.is_early:
        visit.sprint.webhooks[run.uuid] = outcome.json
        kept: Any = to_plain(outcome.json)
    else:
        headers = dict(reply.headers) if reply.headers is not None else None
        method, url = outcome.request.method, outcome.request.url
        properties: dict[str, Property] = {
            "method": method,
            "url": url,
            "status": Decimal(outcome.status_code),
            "headers": XObject(headers) if headers is not None else None,
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
