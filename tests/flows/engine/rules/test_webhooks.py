"""Calls to web addresses and resthooks, and translations, rule by rule (flow format, sections 15 and 16)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from flows import Options, Services
from flows.engine.services import WebhookReply, WebhookRequest
from tests.flows.engine.playing import Played, ask, node, play, switch
from tests.flows.hypothesis.workspace import CHANNEL, CONTACT, FLOW, make_uuid, refer

EARLY: dict[str, Any] = {"options": Options(generation=13), "spec_version": "13.2.0"}
CALL = {"type": "call_webhook", "method": "GET", "url": "http://a.b/", "result_name": "Call"}
HOOK = {"type": "call_resthook", "resthook": "new-answer", "result_name": "Hook"}


def say(text: str) -> dict[str, Any]:
    return {"type": "send_msg", "text": text}


def texts(played: Played) -> list[str]:
    return [event["msg"]["text"] for event in played.of("msg_created")]


class Web:
    """Answers calls as it is told, and remembers them."""

    def __init__(
        self, *statuses: int, body: bytes = b"{}", answer: Callable[[WebhookRequest], int] | None = None
    ) -> None:
        self.statuses, self.body, self.answer = list(statuses) or [200], body, answer
        self.calls: list[WebhookRequest] = []

    def call(self, request: WebhookRequest) -> WebhookReply:
        self.calls.append(request)
        status = self.answer(request) if self.answer else self.statuses[(len(self.calls) - 1) % len(self.statuses)]
        return WebhookReply(status, request.body, "HTTP/1.1", self.body if status else b"")


def act(web: Web, *actions: dict[str, Any], **more: Any) -> Played:
    return play(node(0, *actions), services=Services(webhook=web), **more)


def call(web: Web, fields: dict[str, Any] | None = None, **more: Any) -> Played:
    return act(web, {**CALL, **(fields or {})}, **more)


# call_webhook


@pytest.mark.parametrize(
    "url",
    [
        '@("")',
        "@(1 / 0)",
        "ftp://a.b/",
        "http:///x",
        "a.b",
        'http://a.b/@(repeat("x", 8200))',
        "http://a.b:99999/",
        "http://[a/",
        "http://a b/",
        'http://a.b/@("x\\ny")',
    ],
)
def test_the_last_call_is_forgotten_before_the_address_is_looked_at(url: str) -> None:
    web = Web()
    played = act(web, CALL, {**CALL, "url": url}, say("@(json(webhook))"))
    assert (texts(played), len(web.calls), len(played.of("webhook_called"))) == (["null"], 1, 1)
    assert played.errors


@pytest.mark.parametrize(
    ("url", "called"),
    [
        ("http://a.b/people/@contact.name", "http://a.b/people/Ann%20Lee"),
        ("http://a.b?name=@contact.name&x=1", "http://a.b?name=Ann%20Lee&x=1"),
        ("http://a.b/é/“q”?n=José|{x}#a b", "http://a.b/%C3%A9/%E2%80%9Cq%E2%80%9D?n=Jos%C3%A9%7C%7Bx%7D#a%20b"),
        ("http://a.b/a%20b/100%?x=%2F&y=%zz", "http://a.b/a%20b/100%25?x=%2F&y=%25zz"),
        ("HTTPS://a.b:8080/x;y=(1)!*'~?q=a+b/c?d&e[0]=@@", "HTTPS://a.b:8080/x;y=(1)!*'~?q=a+b/c?d&e[0]=@"),
        ("http://a.b/\u00a0\u3000🙂", "http://a.b/%C2%A0%E3%80%80%F0%9F%99%82"),
    ],
)
def test_what_an_address_may_not_contain_is_encoded_and_what_is_encoded_stays(url: str, called: str) -> None:
    web = Web()
    played = call(web, {"url": url})
    assert (web.calls[0].url, played.of("webhook_called")[0]["url"], played.errors) == (called, called, [])


def test_an_address_of_8192_characters_is_called() -> None:
    web = Web()
    call(web, {"url": f'http://a.b/@(repeat("x", {8192 - 11}))'})
    assert len(web.calls[0].url) == 8192


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
def test_address_headers_and_body_are_evaluated(method: str) -> None:
    web = Web()
    fields = {
        "method": method,
        "url": " http://a.b/@(url_encode(contact.name)) ",
        "headers": {"X-Name": "@contact.first_name"},
        "body": '{"name": "@contact.name"}',
    }
    call(web, fields)
    (request,) = web.calls
    assert request == WebhookRequest(method, "http://a.b/Ann%20Lee", {"X-Name": "Ann"}, '{"name": "Ann Lee"}')


def test_a_body_is_never_cut() -> None:
    web = Web()
    call(web, {"method": "POST", "body": '@(repeat("x", 10000))@(repeat("y", 10000))'})
    assert len(web.calls[0].body) == 20_000


@pytest.mark.parametrize(
    ("status", "told", "category", "value"),
    [
        (200, "success", "Success", "200"),
        (201, "success", "Success", "201"),
        (299, "success", "Success", "299"),
        (199, "response_error", "Failure", "199"),
        (302, "response_error", "Failure", "302"),
        (404, "response_error", "Failure", "404"),
        (410, "response_error", "Failure", "410"),
        (503, "response_error", "Failure", "503"),
        (0, "connection_error", "Failure", "0"),
    ],
)
def test_a_call_counts_by_its_status(status: int, told: str, category: str, value: str) -> None:
    played = call(Web(status))
    (event,) = played.of("webhook_called")
    assert (event["status"], event.get("status_code", 0)) == (told, status)
    result = played.session.runs[0].results["call"]
    assert (result.value, result.category, result.input) == (value, category, "GET http://a.b/")


def test_traces_are_cut_and_cleaned() -> None:
    class Long:
        def call(self, request: WebhookRequest) -> WebhookReply:
            return WebhookReply(200, "a\x00b" + "x" * 20_000, "c\x00d" + "y" * 20_000)

    (event,) = play(node(0, CALL), services=Services(webhook=Long())).of("webhook_called")
    assert (event["request"], event["response"]) == ("ab" + "x" * 9_995 + "...", "cd" + "y" * 9_995 + "...")


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (b'{"a": 1}', '{"a":1}'),
        (b"[1, 2]", "[1,2]"),
        (b'"text"', '"text"'),
        (b"12.50", "12.5"),
        (b'{"a": "x\\u0000y"}', '{"a":"xy"}'),
        (b'{"a\x00": "x"}', '{"a":"x"}'),
        (b'{"a": "\\\\u0000"}', '{"a":"\\\\u0000"}'),
        (b"no JSON", "null"),
        (b"", "null"),
        (b'{"a": 1', "null"),
        (b'{"a": "\xff"}', '{"a":"\ufffd"}'),
    ],
)
def test_json_is_read_whatever_type_it_says_it_has(body: bytes, written: str) -> None:
    played = act(Web(body=body), CALL, say("@(json(webhook.json))"))
    assert texts(played) == [written]


@pytest.mark.parametrize(("size", "is_kept"), [(9_999, True), (10_000, False)])
def test_a_result_has_the_json_if_it_is_small(size: int, is_kept: bool) -> None:
    body = b'"%s"' % (b"x" * (size - 2))
    result = call(Web(body=body)).session.runs[0].results["call"]
    assert (result.extra == "x" * (size - 2), result.extra is None) == (is_kept, not is_kept)


class Chatty(Web):
    """Says far more of a call than is kept."""

    def call(self, request: WebhookRequest) -> WebhookReply:
        return WebhookReply(200, "q" * 20_000, "r" * 20_000, b"{}")


def test_ten_thousand_characters_of_a_request_and_its_response_are_told() -> None:
    (event,) = call(Chatty()).of("webhook_called")
    assert (len(event["request"]), len(event["response"])) == (10_000, 10_000)


def test_the_flow_event_names_the_address_of_the_contact_before_there_is_a_message() -> None:
    web = Web()
    play(node(0, {**CALL, "method": "POST"}), services=Services(webhook=web), options=Options(interface_events=True))
    event = json.loads(web.calls[0].body)
    assert (event["contact"]["urn"], event["input"]) == ("tel:+12065551212", None)
    assert (event["contact"]["name"], event["contact"]["language"]) == ("Ann Lee", "eng")


def test_what_a_host_does_not_measure_is_nothing() -> None:
    (event,) = call(Web()).of("webhook_called")
    assert (event["sizes"], event["elapsed_ms"], event["retries"]) == ({"request": 0, "response": 0}, 0, 0)


class Endless(Web):
    """Says more than the host reads."""

    def call(self, request: WebhookRequest) -> WebhookReply:
        return WebhookReply(200, "GET", "HTTP/1.1 200 OK", b'{"a": 1}', is_oversized=True)


@pytest.mark.parametrize("age", [{}, EARLY])
def test_a_response_that_was_cut_off_is_none_though_it_can_be_read(age: dict[str, Any]) -> None:
    played = act(Endless(), CALL, say("@(json(webhook))|@results.call.category"), **age)
    assert '"a"' not in texts(played)[0]
    assert texts(played)[0].endswith("|Failure")


def test_without_a_name_there_is_no_result() -> None:
    action = {name: part for name, part in CALL.items() if name != "result_name"}
    assert act(Web(), action).session.runs[0].results == {}


@pytest.mark.parametrize(("status", "category"), [(200, "Good"), (404, "Other"), (0, "Other")])
def test_flows_of_both_ages_route_on_a_call(status: int, category: str) -> None:
    old = switch(0, "@results.call.category", ("has_only_text", ["Success"], "Good"))
    new = switch(0, "@(default(webhook.status, 0))", ("has_number_between", ["200", "299"], "Good"))
    for router in (old, new):
        played = play(node(0, CALL, router=router), services=Services(webhook=Web(status)))
        assert played.session.runs[0].results["answer"].category == category
        assert played.errors == []


# call_resthook


def hook(web: Web, subscribers: list[str], **more: Any) -> Played:
    resthooks = [{"slug": "new-answer", "subscribers": subscribers}]
    return act(web, HOOK, assets={"resthooks": resthooks}, **more)


def test_an_unknown_resthook_is_nothing_at_all() -> None:
    web = Web()
    played = act(web, {**HOOK, "resthook": "other"})
    assert (played.kinds[-2:], web.calls, played.session.runs[0].results) == (["run_started", "run_ended"], [], {})


def test_every_subscriber_gets_the_same_payload_once_as_json() -> None:
    web = Web()
    played = hook(web, ["http://a.b/1", "http://a.b/2"])
    (told,) = played.of("resthook_called")
    assert [request.url for request in web.calls] == ["http://a.b/1", "http://a.b/2"]
    assert all(request.method == "POST" and json.loads(request.body) == told["payload"] for request in web.calls)
    assert all(request.headers["Content-Type"] == "application/json" for request in web.calls)
    assert [event["resthook"] for event in played.of("webhook_called")] == ["new-answer"] * 2
    assert played.kinds.index("resthook_called") < played.kinds.index("webhook_called")


@pytest.mark.parametrize("generation", [13, 14])
def test_without_subscribers_generation_13_saved_a_failure_and_14_nothing(generation: int) -> None:
    played = hook(Web(), [], **(EARLY if generation == 13 else {}))
    results = {key: (each.value, each.category) for key, each in played.session.runs[0].results.items()}
    assert results == ({"hook": ("no subscribers", "Failure")} if generation == 13 else {})
    assert len(played.of("resthook_called")) == 1


@pytest.mark.parametrize(
    ("statuses", "value", "category"),
    [
        ([200, 201], "201", "Success"),
        ([500, 200], "500", "Failure"),
        ([500, 502, 200], "502", "Failure"),
        ([0, 200], "0", "Failure"),
        ([410, 200], "200", "Success"),
        ([200, 410], "200", "Success"),
        ([410, 410], "410", "Failure"),
        ([410, 500, 200], "500", "Failure"),
    ],
)
def test_the_result_is_that_of_the_call_that_counts(statuses: list[int], value: str, category: str) -> None:
    played = hook(Web(*statuses), [f"http://a.b/{number}" for number in range(len(statuses))])
    result = played.session.runs[0].results["hook"]
    assert (result.value, result.category) == (value, category)
    gone = [event["url"] for event in played.of("webhook_called") if event["status"] == "subscriber_gone"]
    assert len(gone) == statuses.count(410)


def test_a_payload_tells_contact_flow_path_results_run_input_and_channel() -> None:
    message = {
        "text": "yes",
        "urn": "tel:+12065551212",
        "channel": refer(CHANNEL),
        "attachments": ["image/png:http://a/1"],
    }
    event = {"uuid": make_uuid(7), "type": "msg_received", "created_on": "2025-05-04T12:31:00Z", "msg": message}
    web = Web()
    played = play(ask(0, to=1), node(1, HOOK), services=Services(webhook=web))
    played.wake({"type": "msg", "event": event})
    payload = json.loads(web.calls[0].body)
    moment, run = "2025-05-04T12:30:00.000000Z", played.session.runs[0]
    assert payload["contact"] == {"uuid": CONTACT, "name": "Ann Lee", "urn": "tel:+12065551212", "language": "eng"}
    assert payload["flow"] == {"uuid": FLOW, "name": "Thing", "revision": 1}
    assert payload["path"] == [
        {"node_uuid": make_uuid(1, 0), "arrived_on": moment, "exit_uuid": make_uuid(5, 0)},
        {"node_uuid": make_uuid(1, 1), "arrived_on": moment},
    ]
    assert payload["results"]["answer"] == {
        "name": "Answer",
        "value": "yes",
        "category": "Yes",
        "category_localized": "Yes",
        "node_uuid": make_uuid(1, 0),
        "input": "yes",
        "created_on": moment,
    }
    assert payload["run"] == {"uuid": run.uuid, "created_on": moment}
    assert payload["input"] == {
        "uuid": make_uuid(7),
        "type": "msg",
        "created_on": "2025-05-04T12:31:00.000000Z",
        "channel": {**refer(CHANNEL), "address": "+12065550100"},
        "urn": {"scheme": "tel", "path": "+12065551212", "display": "(206) 555-1212"},
        "text": "yes",
        "attachments": [{"content_type": "image/png", "url": "http://a/1"}],
    }
    assert payload["channel"] == {**refer(CHANNEL), "address": "+12065550100"}


def test_a_payload_without_message_and_route_has_null_for_them() -> None:
    web = Web()
    played = act(web, HOOK, contact={"urns": ["telegram:5"], "name": ""})
    payload = played.of("resthook_called")[0]["payload"]
    assert (payload["input"], payload["channel"], payload["contact"]["urn"]) == (None, None, None)


# Translations

TEXTS = {"spa": {make_uuid(2): {"text": ["Hola"]}}, "fra": {make_uuid(2): {"text": ["Salut"]}}}


@pytest.mark.parametrize(
    ("language", "own", "text"),
    [
        ("spa", "eng", "Hola"),
        ("eng", "eng", "Hi"),
        ("", "eng", "Hi"),
        ("fra", "eng", "Hi"),
        ("spa", "spa", "Hi"),
        ("eng", "spa", "Hi"),
    ],
)
def test_the_contacts_language_counts_if_it_is_allowed(language: str, own: str, text: str) -> None:
    played = play(node(0, say("Hi")), localization=TEXTS, language=own, contact={"language": language})
    assert texts(played) == [text]


@pytest.mark.parametrize("language", ["", "fra", "deu"])
def test_then_that_of_the_workspace_then_the_flows_own(language: str) -> None:
    translated = {"eng": {make_uuid(2): {"text": ["Hello"]}}, **TEXTS}
    played = play(node(0, say("Hallo")), localization=translated, language="deu", contact={"language": language})
    assert texts(played) == ["Hello"]
    played = play(node(0, say("Hallo")), localization=TEXTS, language="deu", contact={"language": language})
    assert texts(played) == ["Hallo"]


@pytest.mark.parametrize("given", [[], [""], None, "Hola"])
def test_a_translation_that_says_nothing_does_not_count(given: Any) -> None:
    more = {"localization": {"spa": {make_uuid(2): {"text": given}}}, "contact": {"language": "spa"}}
    assert texts(play(node(0, say("Hi")), **more)) == ["Hi"]


def test_a_list_of_empty_texts_counts() -> None:
    more = {"localization": {"spa": {make_uuid(2): {"quick_replies": ["", "Sí"]}}}, "contact": {"language": "spa"}}
    (made,) = play(node(0, {**say("Hi"), "quick_replies": ["Yes"]}), **more).of("msg_created")
    assert made["msg"]["quick_replies"] == [{"type": "text", "text": "Sí"}]


def test_translations_are_templates() -> None:
    more = {
        "localization": {"spa": {make_uuid(2): {"text": ["Hola @contact.first_name"]}}},
        "contact": {"language": "spa"},
    }
    assert texts(play(node(0, say("Hi")), **more)) == ["Hola Ann"]
