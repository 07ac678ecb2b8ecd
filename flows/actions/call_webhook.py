"""Calls a URL (flow format, call_webhook)."""

from flows.definition import Action
from flows.definition.action_types import FAILURE, NOT_OFFLINE, SUCCESS, action_type
from flows.definition.fields import asked, one_of, template, texts_by_name
from flows.engine.interface_events import JSON_HEADERS, POST, make_interface_event
from flows.engine.services import WebhookRequest
from flows.engine.visit import Visit, describe_webhook, to_plain
from flows.engine.webhook_calls import (
    SHOWN_URL_CHARACTERS,
    count_bytes,
    encode_url,
    list_header_problems,
    log_call,
    make_call,
    remember_call,
    save_call_result,
)
from flows.expressions.conversions import render_json
from flows.expressions.evaluator import cut_text
from flows.expressions.values import to_value

METHODS = frozenset({"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"})
URL_LENGTH, HEADER_LENGTH, HEADER_NAME_LENGTH, BODY_LENGTH, MOST_HEADERS = 8192, 5000, 100, 20_000, 10
# The valid names of HTTP headers.
HEADER_NAME = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"


@action_type(
    {
        "method": one_of(METHODS),
        "url": asked(template(URL_LENGTH, required=True), "url"),
        "headers": texts_by_name(MOST_HEADERS, HEADER_NAME_LENGTH, HEADER_LENGTH, HEADER_NAME),
        "body": template(BODY_LENGTH),
    },
    allowed_in=NOT_OFFLINE,
    categories=(SUCCESS, FAILURE),
    calls_out=True,
    drawn="{method} {url}",
    palette="call",
)
def call_webhook(visit: Visit, action: Action) -> None:
    """Calls a URL; the response becomes `@webhook`, and a result if the action names one."""
    fields = action.fields
    visit.sprint.webhooks[visit.run.uuid] = None
    visit.run.webhook = None
    written = visit.text(fields["url"]).strip()
    if not written:
        visit.log.error("Webhook URL evaluated to empty string")
        return
    url = encode_url(written, visit.options.webhook_url_characters)
    if not url:
        shown = cut_text(written, SHOWN_URL_CHARACTERS)
        visit.log.error(f"Webhook URL evaluated to an invalid URL: '{shown}'", "url:invalid", {"url": shown})
        return
    headers = {name: visit.text(value).strip() for name, value in (fields.get("headers") or {}).items()}
    body = visit.try_text(action.text("body"), is_whole=True)[0]
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
        # The response may contain a message to send, after the flow's own messages.
        answer = to_plain(outcome.json) if outcome.is_success else None
        visit.log.add("flow_event_made", {"payload": payload, "answer": answer})


def _save_failure(visit: Visit, action: Action, request: WebhookRequest) -> None:
    name = action.fields.get("result_name")
    if name:
        visit.save_result(name, "0", FAILURE, text_input=describe_webhook(request.method, request.url))
