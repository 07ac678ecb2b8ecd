"""What is kept of calls to gateways: no secrets, and not too much."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from persistence.channels.gateway_calls import GatewayCall
from persistence.channels.gateway_leases import GatewaySend
from persistence.channels.types import DEFAULT_GATEWAY
from worker.channels.call_log import BURST, PER_SECOND, CallSampler, describe_call, outcome_of
from worker.channels.senders import GatewayRequest, sender_of
from worker.http.safe_http import HttpResponse

SECRET = "s3cr3t/+word"
TOKEN = "AC0123456789abcdef0123"


def send_with(**config: Any) -> GatewaySend:
    return GatewaySend(
        id=1, workspace_id=1, channel_id=3, channel_type=DEFAULT_GATEWAY, message_id=7, contact_id=5,
        message_uuid="6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21", urn="tel:+250788000111", text="hello", attachments=(),
        quick_replies=(), address="+250788000000", config=config, part=1, error_count=0,
        due_on=datetime(2026, 3, 2, tzinfo=UTC),
    )  # fmt: skip


def kept(answer: bytes = b"", **config: Any) -> GatewayCall:
    """The log of a call to a gateway with these settings."""
    send = send_with(**config)
    (request,) = sender_of(DEFAULT_GATEWAY).make_requests(send, config)
    response = HttpResponse(500, {}, answer, True, 0.25)
    return describe_call(send, request, outcome="refused", response=response, seconds=0.25)


@pytest.mark.parametrize(
    "config",
    [
        {"send_url": "https://sms.example.org/", "send_authorization": f"Bearer {SECRET}"},
        {"send_url": "https://sms.example.org/?to={{to}}&api=s3cr3t%2F%2Bword"},
        {"send_url": f"https://sms.example.org/?password={SECRET}", "method": "GET"},
        {"send_url": f"https://sms.example.org/{TOKEN}/send?to={{{{to}}}}", "method": "GET"},
        {"send_url": "https://sms.example.org/", "headers": {"X-Api-Key": SECRET}},
        {"send_url": "https://sms.example.org/", "body": f"to={{{{to}}}}&password={SECRET}"},
        {
            "send_url": "https://sms.example.org/",
            "content_type": "json",
            "body": f'{{"to": {{{{to}}}}, "api_key": "{SECRET}"}}',
        },
    ],
)
def test_no_secret_of_the_settings_is_kept(config: dict[str, Any]) -> None:
    is_echoed = "send_authorization" in config or "headers" in config
    echoed = f'{{"hint": "use {SECRET}"}}'.encode() if is_echoed else b""
    call = kept(echoed, **config)

    told = f"{call.url} {call.headers} {call.body} {call.answer}"
    assert "***" in told
    assert [each for each in (SECRET, "s3cr3t", TOKEN) if each in told] == []


def test_words_of_four_characters_are_secrets_and_shorter_ones_are_told() -> None:
    call = kept(b"Key wxyz abc", send_url="https://sms.example.org/", send_authorization="Key wxyz abc")

    assert call.answer == "***"
    call = kept(b"it is wxyz, not abc", send_url="https://sms.example.org/", send_authorization="Key wxyz abc")
    assert call.answer == "it is ***, not abc"


def test_headers_and_parameters_are_secrets_from_four_characters_on_too() -> None:
    headers = {"X-Api-Key": "abcd", "X-Token": "xyz", "X-Account": "mine"}
    call = kept(b"abcd xyz mine pqrs uvw", send_url="https://sms.example.org/?a=pqrs&b=uvw", headers=headers)

    assert call.answer == "*** xyz mine *** uvw"
    assert call.url == "https://sms.example.org/?a=***&b=uvw"
    assert {name: call.headers[name] for name in headers} == dict.fromkeys(headers, "***") | {"X-Account": "mine"}


def test_of_two_secrets_the_longer_one_is_hidden_as_a_whole() -> None:
    call = kept(b"abcd-efgh abcd", send_url="https://sms.example.org/?a=abcd&b=abcd-efgh")

    assert call.answer == "*** ***"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", ""),
        ("?", "?"),
        ("?token&to=1", "?token&to=1"),
        ("?token=a=b&to=1=2", "?token=***&to=1=2"),
        ("?token=&to=", "?token=***&to="),
        ("?a=1?b", "?a=1?b"),
    ],
)
def test_parameters_that_are_named_like_secrets_keep_their_names(query: str, shown: str) -> None:
    request = GatewayRequest("GET", f"https://sms.example.org/{query}", {}, None)
    call = describe_call(send_with(), request, outcome="accepted", error=None, seconds=1)

    assert (call.url, call.error) == (f"https://sms.example.org/{shown}", None)


def test_errors_are_told_without_secrets() -> None:
    send = send_with(send_url="https://sms.example.org/?key=abcd")
    request = GatewayRequest("GET", "https://sms.example.org/?key=abcd", {}, None)

    assert describe_call(send, request, outcome="unanswered", error="abcd is away.", seconds=1).error == "*** is away."


def test_what_is_no_secret_is_told() -> None:
    config = {"send_url": "https://sms.example.org/v1/send?to={{to}}", "body": "text={{text}}"}
    call = kept(b'{"error": "no credit"}\x00\xff', **config)

    url = "https://sms.example.org/v1/send?to=%2B250788000111"
    assert (call.method, call.url, call.body) == ("POST", url, "text=hello")
    assert call.answer == '{"error": "no credit"}��'
    assert (call.status, call.duration_ms, call.message_id, call.contact_id) == (500, 250, 7, 5)


def test_long_bodies_are_cut() -> None:
    send = replace(send_with(send_url="https://sms.example.org/"), part=2)
    request = GatewayRequest("POST", "https://sms.example.org/", {}, b"x" * 5000)
    call = describe_call(send, request, outcome="unanswered", error="It did not respond.", seconds=15)

    assert (len(call.body or ""), call.part, call.status, call.error) == (2000, 2, None, "It did not respond.")


def test_long_answers_and_urls_are_cut() -> None:
    send = send_with(send_url="https://sms.example.org/")
    request = GatewayRequest("GET", f"https://sms.example.org/?{'x=y&' * 1000}", {}, None)
    response = HttpResponse(200, {}, b"x" * 5000, True, 0.25)
    call = describe_call(send, request, outcome="accepted", response=response, seconds=1)

    assert (len(call.answer or ""), len(call.url), call.body) == (1000, 2048, None)


def test_a_busy_gateway_gets_a_sample_and_its_errors_one_of_their_own() -> None:
    now = [0.0]
    sampler = CallSampler(lambda: now[0])

    assert sum(sampler.takes(1, "accepted") for _ in range(1000)) == BURST
    assert sampler.takes(1, "refused") and sampler.takes(2, "accepted")
    now[0] += 2
    assert sum(sampler.takes(1, "accepted") for _ in range(1000)) == 2 * PER_SECOND


@pytest.mark.parametrize(
    ("is_accepted", "is_answered", "outcome"),
    [(True, True, "accepted"), (False, True, "refused"), (False, False, "unanswered")],
)
def test_an_outcome_says_who_did_what(is_accepted: bool, is_answered: bool, outcome: str) -> None:
    assert outcome_of(is_accepted=is_accepted, is_answered=is_answered) == outcome
