"""Calls that are too large, that are not allowed, or whose response is too large (flow format, webhooks)."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import orjson
import pytest

from flows import Options, Services
from flows.engine import Contact, Session
from flows.engine.services import WebhookReply, WebhookRequest
from tests.flows.engine.playing import Played, node, play

CALL = {"type": "call_webhook", "method": "POST", "url": "http://example.com/", "result_name": "Call"}
STATUS = {
    "type": "send_msg",
    "text": "@(default(webhook.status, 0)) @(is_error(webhook.json.x)) @results.call.category",
}
FINE = WebhookReply(200, "POST / HTTP/1.1", body=b'{"x": 1}')


@dataclass
class Web:
    """Gives one reply to every call, and remembers the calls."""

    reply: WebhookReply = FINE
    calls: list[WebhookRequest] = field(default_factory=list)

    def call(self, request: WebhookRequest) -> WebhookReply:
        self.calls.append(request)
        return self.reply


def act(
    web: Web,
    options: Options | None = None,
    action: dict[str, Any] = CALL,
    contact: dict[str, Any] | None = None,
    **fields: Any,
) -> Played:
    nodes, services = (node(0, {**action, **fields}, to=1), node(1, STATUS)), Services(webhook=web)
    return play(*nodes, services=services, options=options, contact=contact)


def said(played: Played) -> str:
    text: str = played.of("msg_created")[0]["msg"]["text"]
    return text


def test_an_answer_that_is_too_large_is_a_connection_error() -> None:
    web = Web(WebhookReply(200, "POST / HTTP/1.1", "HTTP/1.1 200", b'{"x": 1', {"A": "b"}, is_oversized=True))

    played = act(web)

    (called,) = played.of("webhook_called")
    assert called["status"] == "connection_error"
    result = played.session.runs[0].results["call"]
    assert (result.value, result.category, result.extra) == ("0", "Failure", None)
    assert said(played) == "0 true Failure"
    (warning,) = played.of("warning")
    assert warning["code"] == "webhook:response_size"


def test_numbers_that_need_more_than_64_bits_are_stored_as_texts() -> None:
    """Writers of JSON refuse them: the sprint could not be recorded."""
    digits, most = "123456789012345678901234567890", 2**63 - 1
    body = f'{{"large": {digits}, "most": {most}, "list": [-{digits}]}}'.encode()
    contact = {"fields": {"serial": {"text": digits, "number": digits}, "age": {"text": "1", "number": 1}}}

    played = act(Web(WebhookReply(200, "POST / HTTP/1.1", body=body)), contact=contact)

    stored = orjson.loads(orjson.dumps(played.session.to_json()))
    assert stored["contact"]["fields"]["serial"] == {"text": digits, "number": digits}
    assert Session.from_json(stored).contact.fields["serial"].number == Decimal(digits)
    extra = played.session.runs[0].results["call"].extra
    assert extra == {"large": digits, "most": most, "list": [f"-{digits}"]}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e-999", "x", "NaN"])
def test_a_stored_number_out_of_range_is_none(number: str) -> None:
    contact = Contact.from_json({"uuid": "1", "fields": {"age": {"text": "old", "number": number}}})

    assert contact.fields["age"].number is None


@pytest.mark.parametrize("status", [200, 404, 410])
def test_so_it_is_for_subscribers_of_resthooks(status: int) -> None:
    web = Web(WebhookReply(status, "POST / HTTP/1.1", "HTTP/1.1", b"x", is_oversized=True))

    played = act(web, action={"type": "call_resthook", "resthook": "new-answer", "result_name": "Call"})

    assert {called["status"] for called in played.of("webhook_called")} == {"connection_error"}
    assert played.session.runs[0].results["call"].category == "Failure"


def test_a_blocked_domain_is_an_error_that_names_the_host_and_no_call() -> None:
    web = Web(WebhookReply(0, "POST / HTTP/1.1", blocked_hostname="graph.example.com"))

    played = act(web)

    (error,) = played.of("error")
    assert error == {
        "text": "Webhook calls to 'graph.example.com' are blocked",
        "code": "url:blocked",
        "extra": {"hostname": "graph.example.com"},
    }
    assert played.of("webhook_called") == []
    assert played.session.runs[0].webhook is None
    assert said(played) == "0 true Failure"


def test_an_address_that_the_host_refuses_is_a_connection_error_that_names_the_host() -> None:
    web = Web(WebhookReply(0, "POST / HTTP/1.1", problem="The address is not public."))

    played = act(web, url="http://10.0.0.1:8080/x")

    (error,) = played.of("error")
    assert (error["code"], error["extra"]) == ("url:blocked", {"hostname": "10.0.0.1"})
    assert played.of("webhook_called")[0]["status"] == "connection_error"


def measure(**fields: Any) -> int:
    """The bytes of a call as the engine reckons them, found by where its limit lies."""
    for limit in range(1, 200):
        web = Web()
        act(web, Options(webhook_request_bytes=limit), **fields)
        if web.calls:
            return limit
    raise AssertionError("larger than this test looks for")


def test_the_size_of_a_request_is_that_of_its_first_line_headers_and_body() -> None:
    written = "POST http://example.com/ HTTP/1.1\r\nX-Key: é\r\nAccept: a\r\n\r\n{body}"

    size = measure(headers={"X-Key": '@("é")', "Accept": "a"}, body="{body}")

    assert size == len(written.encode())


def test_a_request_that_is_too_large_says_its_size_and_the_limit_and_is_not_sent() -> None:
    web = Web()

    played = act(
        web,
        headers={"X-Key": '@(repeat("x", 5000))'},
        body='@(repeat("y", 300))',
        options=Options(webhook_request_bytes=5000),
    )

    (error,) = [event for event in played.of("error") if event["code"] == "webhook:request_size"]
    size = len(b"POST http://example.com/ HTTP/1.1\r\nX-Key: " + b"x" * 5000 + b"\r\n\r\n" + b"y" * 300)
    assert error["extra"] == {"size": str(size), "limit": "5000"}
    assert error["text"] == f"Webhook request evaluated to {size} bytes, exceeding the limit of 5000"
    assert (web.calls, played.of("webhook_called")) == ([], [])
