"""The action that calls a web address (flow format, call_webhook)."""

from __future__ import annotations

from decimal import Decimal
from urllib.parse import urlsplit

from flows.definition import Action
from flows.engine.actions.call_headers import list_header_problems
from flows.engine.actions.call_outcome import CallOutcome, call_status, log_call, read_body, remember_call
from flows.engine.actions.contents import cut
from flows.engine.actions.interface_events import JSON_HEADERS, POST, make_interface_event
from flows.engine.actions.results import FAILURE, SUCCESS
from flows.engine.router import to_plain
from flows.engine.services import WebhookReply, WebhookRequest
from flows.engine.visit import Visit, describe_webhook
from flows.expressions.rendering import render_json
from flows.expressions.values import to_value

SHOWN_URL_CHARACTERS = 255


def call_webhook(visit: Visit, action: Action) -> None:
    """Calls an address; its answer is `@webhook` from then on, and a result if one is named."""
    fields = action.fields
    visit.sprint.webhooks[visit.run.uuid] = None
    visit.run.webhook = None
    url = visit.text(fields["url"]).strip()
    if not url:
        visit.log.error("Webhook URL evaluated to empty string")
        return
    if not is_callable(url, visit.options.webhook_url_characters):
        shown = cut(url, SHOWN_URL_CHARACTERS)
        visit.log.error(f"Webhook URL evaluated to an invalid URL: '{shown}'", "url:invalid", {"url": shown})
        return
    headers = {name: visit.text(value).strip() for name, value in (fields.get("headers") or {}).items()}
    body = visit.try_text(fields.get("body") or "", is_whole=True)[0]
    payload = make_interface_event(visit) if visit.options.interface_events and fields["method"] == POST else None
    if payload is not None and not body:
        body = render_json(to_value(payload))
        headers = {**JSON_HEADERS, **headers}
    request = WebhookRequest(fields["method"], url, headers, body)
    limit, size = visit.options.webhook_request_bytes, count_bytes(request)
    if size > limit:
        text = f"Webhook request evaluated to {size} bytes, exceeding the limit of {limit}"
        visit.log.error(text, "webhook:request_size", {"size": str(size), "limit": str(limit)})
        return
    problems = list_header_problems(headers)
    for name, problem in problems:
        visit.log.error(problem, "webhook:header", {"header": name})
    outcome = None if problems else make_call(visit, request)
    if outcome is None:
        _save_failure(visit, action, request)
        return
    log_call(visit, outcome)
    remember_call(visit, outcome)
    if fields.get("result_name"):
        save_call_result(visit, fields["result_name"], outcome)
    if payload is not None:
        # What the receiver answers may be a message to send, once what the flow did so far is recorded.
        answer = to_plain(outcome.json) if outcome.is_success else None
        visit.log.add("flow_event_made", {"payload": payload, "answer": answer})


def is_callable(url: str, limit: int) -> bool:
    """Whether a text is a web address that could be called."""
    if len(url) > limit or any(character.isspace() for character in url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


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
        hostname = cut(reply.blocked_hostname, SHOWN_URL_CHARACTERS)
        visit.log.error(f"Webhook calls to '{hostname}' are blocked", "url:blocked", {"hostname": hostname})
        return None
    if reply.problem:
        hostname = urlsplit(request.url).hostname or ""
        visit.log.error(reply.problem, "url:blocked", {"hostname": cut(hostname, SHOWN_URL_CHARACTERS)})
    if reply.is_oversized:
        visit.log.warning("Webhook response exceeds the size limit and was cut off", "webhook:response_size")
    return CallOutcome(request, reply, call_status(reply, resthook), read_body(reply), resthook)


def save_call_result(visit: Visit, name: str, outcome: CallOutcome) -> None:
    """Saves the status code of a call as a result, with a small JSON answer as its extra."""
    is_small = len(outcome.reply.body) < visit.options.webhook_kept_bytes
    extra = to_plain(outcome.json) if outcome.json is not None and is_small else None
    category = SUCCESS if outcome.is_success else FAILURE
    text_input = describe_webhook(outcome.request.method, outcome.request.url)
    value = str(Decimal(outcome.status_code))
    visit.save_result(name, value, category, text_input=text_input, extra=extra)


def _save_failure(visit: Visit, action: Action, request: WebhookRequest) -> None:
    name = action.fields.get("result_name")
    if name:
        visit.save_result(name, "0", FAILURE, text_input=describe_webhook(request.method, request.url))
