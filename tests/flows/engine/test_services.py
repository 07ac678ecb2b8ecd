"""Every external service may be missing or fail; the flow continues."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Options, ServiceError, Services
from flows.engine.services import LlmReply, WebhookReply
from tests.flows.engine.playing import Played, node, play
from tests.flows.hypothesis.workspace import CLASSIFIER, LLM, Answers, refer


class Broken:
    """Services that cannot do anything."""

    def call(self, request: Any) -> WebhookReply:
        return WebhookReply(0, "POST / HTTP/1.1")

    def send(self, *arguments: Any) -> None:
        raise ServiceError("no server")

    def respond(self, *arguments: Any) -> Any:
        raise ServiceError("no model")

    def classify(self, *arguments: Any) -> Any:
        raise ServiceError("no intents")

    def transfer(self, *arguments: Any) -> Any:
        raise ServiceError("no credit")

    def claim(self, contact_uuid: str, urn: Any) -> bool:
        return False


BROKEN = Broken()
NOTHING = Services()
FAILING = Services(webhook=BROKEN, email=BROKEN, classifier=BROKEN, llm=BROKEN, airtime=BROKEN, urns=BROKEN)
FINE = Answers(b'{"ok": true}', 200, "fine").as_services()
WEBHOOK = {"type": "call_webhook", "method": "GET", "url": "http://example.com/", "result_name": "Call"}
RESTHOOK = {"type": "call_resthook", "resthook": "new-answer", "result_name": "Call"}
EMAIL = {"type": "send_email", "addresses": ["ann@example.com"], "subject": "Hi", "body": "Hello"}
ASK_LLM = {"type": "call_llm", "llm": refer(LLM), "instructions": "Do", "input": "this", "output_local": "said"}
AIRTIME = {"type": "transfer_airtime", "amounts": {"USD": 5}, "result_name": "Call"}
INTENTS = {"type": "call_classifier", "classifier": refer(CLASSIFIER), "input": "book", "result_name": "Call"}
THEN = node(1, {"type": "send_msg", "text": "still here"})


def act(action: dict[str, Any], services: Services, generation: int = 14) -> Played:
    version = "13.2.0" if generation < 14 else "14.4.2"
    played = play(
        node(0, action, to=1), THEN, services=services, options=Options(generation=generation), spec_version=version
    )
    assert played.session.status == "completed"
    assert played.of("msg_created")[0]["msg"]["text"] == "still here"
    return played


def result_of(played: Played) -> tuple[str, str]:
    result = played.session.runs[0].results["call"]
    return result.value, result.category


@pytest.mark.parametrize("services", [NOTHING, FAILING])
@pytest.mark.parametrize("generation", [13, 14])
@pytest.mark.parametrize("action", [WEBHOOK, RESTHOOK])
def test_calls_that_cannot_be_made_fail(action: dict[str, Any], generation: int, services: Services) -> None:
    assert result_of(act(action, services, generation)) == ("0", "Failure")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("Host", "inside.example.com", "Webhook header 'Host' may not be set"),
        ("host", "@contact.name", "Webhook header 'host' may not be set"),
        ("Content-Length", "3", "Webhook header 'Content-Length' may not be set"),
        ("Transfer-Encoding", "chunked", "Webhook header 'Transfer-Encoding' may not be set"),
        ("CONNECTION", "upgrade", "Webhook header 'CONNECTION' may not be set"),
        (
            "X-Note",
            '@("a" & char(13) & char(10) & "Host: b")',
            "Webhook header 'X-Note' evaluated to more than one line",
        ),
        ("X-Note", "a\nb", "Webhook header 'X-Note' evaluated to more than one line"),
        ("X-Note", "a\x01b", "Webhook header 'X-Note' evaluated to more than one line"),
    ],
)
def test_headers_that_would_break_or_smuggle_a_request_are_an_error_and_no_call(
    name: str, value: str, problem: str
) -> None:
    played = act({**WEBHOOK, "headers": {name: value, "X-Fine": "yes"}}, FINE)

    assert [(event["text"], event["code"], event["extra"]) for event in played.of("error")] == [
        (problem, "webhook:header", {"header": name})
    ]
    assert played.of("webhook_called") == []
    assert result_of(played) == ("0", "Failure")


@pytest.mark.parametrize("value", ["plain", " @contact.name \n", "a\tb"])
def test_other_headers_are_sent(value: str) -> None:
    assert act({**WEBHOOK, "headers": {"X-Note": value, "Accept": "*/*"}}, FINE).of("error") == []


def test_requests_have_a_greatest_size() -> None:
    body = '@(json(foreach(split(repeat("x ", 5000)), (x) => repeat(x, 500))))'
    played = act({**WEBHOOK, "method": "POST", "body": body}, FINE)
    assert (played.of("webhook_called"), "exceeding the limit" in played.errors[0]) == ([], True)


@pytest.mark.parametrize(
    ("services", "error"), [(NOTHING, "No email service available"), (FAILING, "Unable to send email: no server")]
)
def test_mail_that_cannot_be_sent_is_an_error(services: Services, error: str) -> None:
    played = act(EMAIL, services)
    assert (played.errors, played.of("email_sent")) == ([error], [])


@pytest.mark.parametrize(("services", "said"), [(NOTHING, "<ERROR>"), (FAILING, "<ERROR>"), (FINE, "fine")])
def test_models_leave_what_they_said_or_an_error(services: Services, said: str) -> None:
    assert act(ASK_LLM, services).session.runs[0].locals == {"said": said}


@pytest.mark.parametrize(
    ("services", "value"), [(NOTHING, ("0", "Failure")), (FAILING, ("0", "Failure")), (FINE, ("5", "Success"))]
)
def test_transfers_save_their_amount_in_generation_13(services: Services, value: tuple[str, str]) -> None:
    assert result_of(act(AIRTIME, services, 13)) == value


@pytest.mark.parametrize(("services", "is_made"), [(NOTHING, False), (FAILING, False), (FINE, True)])
def test_transfers_leave_their_uuid_in_generation_14(services: Services, is_made: bool) -> None:
    played = act(AIRTIME, services)
    assert bool(played.session.runs[0].locals["_new_transfer"]) == is_made == bool(played.of("airtime_created"))


@pytest.mark.parametrize(
    ("services", "value"), [(NOTHING, ("0", "Failure")), (FAILING, ("0", "Failure")), (FINE, ("fine", "Success"))]
)
def test_classifiers_save_the_best_intent(services: Services, value: tuple[str, str]) -> None:
    assert result_of(act(INTENTS, services, 13)) == value


def test_classifiers_skip_what_is_empty_and_are_gone_in_14() -> None:
    assert result_of(act({**INTENTS, "input": '@("")'}, FINE, 13)) == ("0", "Skipped")
    assert result_of(act(INTENTS, FINE, 14)) == ("0", "Failure")


def test_a_model_gets_what_could_be_evaluated() -> None:
    played = act({**ASK_LLM, "input": "this@(1 / 0)"}, FINE)
    assert [event["input"] for event in played.of("llm_called")] == ["this"]
    assert (len(played.errors), played.session.runs[0].locals) == (1, {"said": "fine"})


@pytest.mark.parametrize("end", ["", "@contact"])
def test_a_text_that_is_cut_ends_in_dots(end: str) -> None:
    (sent,) = act({**EMAIL, "body": f"{'x' * 10_001}{end}"}, FINE).of("email_sent")
    assert sent["body"] == "x" * 9_997 + "..."


def test_a_model_that_counts_and_measures_nothing_took_nothing() -> None:
    assert LlmReply("said") == LlmReply("said", input_tokens=0, output_tokens=0, elapsed_ms=0)
