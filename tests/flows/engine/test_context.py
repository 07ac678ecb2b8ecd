"""What templates can refer to, root by root (flow format, the expression context)."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Options, Services
from flows.engine.services import WebhookReply
from tests.flows.engine.playing import Played, ask, node, play
from tests.flows.hypothesis.workspace import CHANNEL, CONTACT_JSON, refer

RECEIVE_ONLY = {**refer(CHANNEL, "Inbox"), "address": "1", "schemes": ["tel"], "roles": ["receive"]}
MAIL = {**refer(CHANNEL, "Post"), "address": "a@b.c", "schemes": ["mailto"], "roles": ["send", "receive"]}


def say(text: str) -> dict[str, Any]:
    return {"type": "send_msg", "text": text}


def said(played: Played) -> str:
    text: str = played.of("msg_created")[-1]["msg"]["text"]
    return text


class Web:
    """Answers every call with one body."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def call(self, request: Any) -> WebhookReply:
        return WebhookReply(200, "GET / HTTP/1.1", body=self.body)


@pytest.mark.parametrize(
    ("urns", "channels", "text"),
    [
        (CONTACT_JSON["urns"], None, "tel:+12065551212"),
        (["mailto:ann@example.com", "tel:+12065551212"], None, "tel:+12065551212"),
        (["tel:+12065551212", "mailto:ann@example.com"], [MAIL], "mailto:ann@example.com"),
        (["tel:+12065551212"], [RECEIVE_ONLY], "nothing"),
        (["tel:+12065551212"], [], "nothing"),
        ([], None, "nothing"),
    ],
)
def test_the_urn_of_a_contact_is_the_first_that_a_channel_can_send_to(urns: Any, channels: Any, text: str) -> None:
    assets = {} if channels is None else {"channels": channels}

    played = play(
        node(0, say('@(default(contact.urn, "nothing"))')),
        contact={"urns": urns},
        assets=assets,
    )

    assert said(played) == text


def test_without_a_channel_the_urn_is_null_and_the_urns_are_there_still() -> None:
    played = play(node(0, say("@(json(contact.urn)) @contact.urns @urns.tel")), assets={"channels": []})

    assert said(played) == "null [tel:+12065551212, mailto:ann@example.com] tel:+12065551212"


def start_with(event: dict[str, Any], text: str, kind: str = "chat", **trigger: Any) -> str:
    whole = {"uuid": "e", "type": "chat_started", "created_on": "2025-05-04T12:30:00Z", **event}
    return said(play(node(0, say(text)), trigger={"type": kind, "event": whole, **trigger}))


def test_params_of_a_chat_are_those_of_its_event() -> None:
    params = {"referrer_id": "ad 7", "source": "ADS"}
    assert start_with({"channel": refer(CHANNEL), "params": params}, "@trigger.params.source") == "ADS"
    assert start_with({"channel": refer(CHANNEL)}, "@(json(trigger.params))") == "{}"
    assert start_with({"params": params}, "@trigger.params.source", kind="optin") == "ADS"
    assert start_with({"params": params}, "@trigger.params.source", params={"source": "own"}) == "own"


def receive(text: str, **message: Any) -> str:
    """What is said to a message that starts the flow."""
    event = {"uuid": "the event", "type": "msg_received", "created_on": "2025-05-04T12:30:00Z"}
    received = {"text": "Hi", "urn": "tel:+12065551212", **message}
    return said(play(node(0, say(text)), trigger={"type": "msg", "event": {**event, "msg": received}}))


def test_the_payload_of_a_message_is_an_object() -> None:
    assert receive("@input.payload.size", payload={"size": "XL", "extras": [1, 2]}) == "XL"
    assert receive("@(json(input.payload))", payload={"extras": [1, {"a": None}]}) == '{"extras":[1,{"a":null}]}'
    assert receive("@(json(input.payload))") == "{}"


def test_a_payload_is_kept_while_the_session_waits() -> None:
    event = {"uuid": "e", "type": "msg_received", "created_on": "2025-05-04T12:30:00Z"}
    message = {"text": "Hi", "urn": "tel:+12065551212", "payload": {"size": "XL"}}
    trigger = {"type": "msg", "event": {**event, "msg": message}}

    played = play(node(0, to=1), ask(1, to=2), node(2, say("@input.payload")), trigger=trigger)

    assert played.session.from_json(played.session.to_json()) == played.session
    assert played.session.input is not None and played.session.input["payload"] == {"size": "XL"}
    assert said(played.answer("no")) == "{}"


def test_an_address_that_is_none_is_null() -> None:
    assert receive("@input.urn") == "tel:+12065551212"
    assert receive("@(json(input.urn))", urn="nonsense") == "null"


def test_a_message_came_when_its_event_says() -> None:
    trigger = {"type": "msg", "triggered_on": "2025-05-04T12:30:00Z"}
    event = {"uuid": "e", "type": "msg_received", "created_on": "2025-05-04T12:29:00Z", "msg": {"text": "Hi"}}
    played = play(node(0, say("@input.created_on")), trigger={**trigger, "event": event})

    assert said(played) == "2025-05-04T12:29:00.000000Z"


def test_the_input_goes_by_the_uuid_of_its_event() -> None:
    assert receive("@input.uuid", uuid="the message") == "the event"


@pytest.mark.parametrize("path", ["locals", "run.locals"])
def test_local_variables_are_there_by_name_and_as_lines(path: str) -> None:
    actions = [
        {"type": "set_run_local", "local": name, "value": value, "operation": "set"}
        for name, value in (("size", "XL"), ("color", "red"))
    ]
    assert said(play(node(0, *actions, say(f"@{path}.size")))) == "XL"
    assert said(play(node(0, *actions, say(f"@{path}")))) == "color: red\nsize: XL"


def test_generation_13_has_no_local_variables() -> None:
    played = play(
        node(0, say("@(is_error(run.locals)) @(is_error(locals))")),
        options=Options(generation=13),
        spec_version="13.2.0",
    )
    assert said(played) == "true true"


EXTRA = {"type": "call_webhook", "method": "GET", "url": "http://example.com/", "result_name": "Old Call"}
SUMMARY = {
    "uuid": "p",
    "flow": {"uuid": "f", "name": "Parent"},
    "status": "active",
    "results": {"found": {"name": "Found", "value": "1", "extra": {"b": "parent's", "c": "parent's"}}},
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("@legacy_extra.a", "called"),
        ("@legacy_extra.B", "parent's"),
        ("@legacy_extra.d", "param"),
        ("@legacy_extra.two_words", "2"),
        ("@legacy_extra.old_call", '{"Two Words":2,"a":"called","list":[1,2]}'),
        ("@legacy_extra.found", '{"b":"parent\'s","c":"parent\'s"}'),
        ("@(legacy_extra.list[1])", "2"),
    ],
)
def test_legacy_extra_is_all_extras_together_and_a_warning(template: str, text: str) -> None:
    web = Web(b'{"a": "called", "list": [1, 2], "Two Words": 2}')
    trigger = {"type": "flow_action", "run_summary": SUMMARY, "params": {"a": "param", "c": "param", "d": "param"}}

    played = play(node(0, EXTRA, say(template)), services=Services(webhook=web), trigger=trigger)

    assert said(played) == text
    assert played.of("warning") == [{"text": "@legacy_extra is deprecated", "code": "context:deprecated"}]


def test_a_list_in_legacy_extra_is_there_by_position() -> None:
    played = play(
        node(0, EXTRA, say('@(legacy_extra["1"]) @legacy_extra.old_call')),
        services=Services(webhook=Web(b'["x", "y"]')),
    )

    assert said(played) == 'y ["x","y"]'


def test_generation_13_does_not_warn_of_legacy_extra() -> None:
    played = play(
        node(0, say("@legacy_extra.a")),
        options=Options(generation=13),
        spec_version="13.2.0",
        trigger={"params": {"a": "1"}},
    )

    assert (said(played), played.of("warning")) == ("1", [])
