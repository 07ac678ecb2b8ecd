"""Messages made from templates that channels have approved, and recordings in calls (flow format, messages)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.engine.playing import Played, flow, node, play
from tests.flows.hypothesis.workspace import CHANNEL, make_uuid, refer

TEMPLATE = make_uuid(75)
CALL = {"uuid": make_uuid(76), "channel": refer(CHANNEL), "urn": "tel:+12065551212"}


def make_template(*types: str) -> dict[str, Any]:
    header = {"name": "header", "type": "header/media", "content": "", "variables": {"1": 0}}
    body = {"name": "body", "type": "body/text", "content": "Hi {{1}}", "variables": {"1": 1}}
    translation = {
        "channel": refer(CHANNEL),
        "locale": "eng-US",
        "components": [header, body],
        "variables": [{"type": kind} for kind in types],
    }
    return {"templates": [{**refer(TEMPLATE, "Welcome"), "translations": [translation]}]}


def send(*variables: str, types: tuple[str, ...] = ("image", "text")) -> Played:
    action = {
        "type": "send_msg",
        "text": "Plain",
        "template": refer(TEMPLATE, "Welcome"),
        "template_variables": list(variables),
    }
    return play(node(0, action), assets=make_template(*types))


def message_of(played: Played) -> dict[str, Any]:
    (made,) = [*played.of("msg_created"), *played.of("ivr_created")]
    message: dict[str, Any] = made["msg"]
    return message


def test_an_attachment_of_a_template_is_sent() -> None:
    message = message_of(send("image:http://a/@(1).jpg", "Ann"))

    assert (message["text"], message["attachments"]) == ("Hi Ann", ["image:http://a/1.jpg"])
    assert message["templating"]["variables"] == [
        {"type": "image", "value": "image:http://a/1.jpg"},
        {"type": "text", "value": "Ann"},
    ]
    assert message["templating"]["components"] == [
        {"name": "header", "type": "header/media", "variables": {"1": 0}},
        {"name": "body", "type": "body/text", "variables": {"1": 1}},
    ]


def test_variables_of_a_message_come_before_those_of_its_older_form() -> None:
    older = {
        "uuid": make_uuid(60),
        "template": refer(TEMPLATE, "Welcome"),
        "variables": ["image:http://a/2.jpg", "Bob"],
    }
    action = {"type": "send_msg", "text": "Plain", "templating": older}
    newer = {**action, "template_variables": ["image:http://a/1.jpg", "Ann"]}

    texts = [message_of(play(node(0, each), assets=make_template("image", "text")))["text"] for each in (action, newer)]
    assert texts == ["Hi Bob", "Hi Ann"]


@pytest.mark.parametrize("kind", ["image", "video", "document"])
def test_an_attachment_of_a_template_with_an_expression_in_error_is_not_sent(kind: str) -> None:
    played = send("image:http://a/1.jpg@(1 / 0)", "Ann", types=(kind, "text"))

    message = message_of(played)
    assert "attachments" not in message
    assert message["templating"]["variables"][0] == {"type": kind, "value": ""}
    assert played.errors == ["Error evaluating expression: division by zero"]


def test_of_a_text_of_a_template_with_an_expression_in_error_what_remains_is_sent() -> None:
    message = message_of(send("image:http://a/1.jpg", "Ann@(1 / 0)"))

    assert (message["text"], message["templating"]["variables"][1]["value"]) == ("Hi Ann", "Ann")


@pytest.mark.parametrize("given", [(), ("image:http://a/1.jpg",), ("image:http://a/1.jpg", "Ann", "more")])
def test_variables_that_are_not_given_are_empty(given: tuple[str, ...]) -> None:
    values = [each["value"] for each in message_of(send(*given))["templating"]["variables"]]

    assert values == [*given, "", ""][:2]


@pytest.mark.parametrize("value", ["", "a picture", "image:", ":http://a/1.jpg"])
def test_what_is_no_attachment_is_none(value: str) -> None:
    assert "attachments" not in message_of(send(value, "Ann"))


def call(action: dict[str, Any], **more: Any) -> Played:
    return play(node(0, action), call=CALL, type="voice", child=flow(uuid=make_uuid(77)), **more)


def test_a_recording_is_played() -> None:
    message = message_of(call({"type": "play_audio", "audio_url": " http://a/@(1).mp3 "}))

    assert (message["text"], message["attachments"]) == ("", ["audio:http://a/1.mp3"])
    assert (message["urn"], message["channel"]) == ("tel:+12065551212", refer(CHANNEL))


@pytest.mark.parametrize("audio_url", ["http://a/@(1 / 0).mp3", "@(1 / 0)", "@results.missing"])
def test_a_recording_whose_address_has_an_expression_in_error_is_not_played(audio_url: str) -> None:
    played = call({"type": "play_audio", "audio_url": audio_url})

    assert (played.of("ivr_created"), len(played.errors)) == ([], 1)
    assert played.session.status == "completed"


def test_a_recording_without_address_is_an_error() -> None:
    played = call({"type": "play_audio", "audio_url": '@("")'})

    assert (played.of("ivr_created"), played.errors) == ([], ["Audio URL evaluated to empty, skipping"])


@pytest.mark.parametrize(
    ("written", "reply"),
    [
        ("Yes", {"type": "text", "text": "Yes"}),
        ("Yes<extra>for sure", {"type": "text", "text": "Yes", "extra": "for sure"}),
        ("<location>Where?", {"type": "location", "text": "Where?"}),
        ("<location>", {"type": "location"}),
        ("<form>Book now<extra>123", {"type": "form", "text": "Book now", "extra": "123"}),
        ("<url>Open<extra>https://a.b/@(1)", {"type": "url", "text": "Open", "extra": "https://a.b/1"}),
        ("x" * 70, {"type": "text", "text": "x" * 61 + "..."}),
        ('Yes<extra>@(repeat("y", 1000))', {"type": "text", "text": "Yes", "extra": "y" * 1000}),
        ('Yes<extra>@(repeat("y", 1001))', {"type": "text", "text": "Yes", "extra": "y" * 997 + "..."}),
    ],
)
def test_quick_replies_have_a_kind_and_may_say_more(written: str, reply: dict[str, str]) -> None:
    message = message_of(play(node(0, {"type": "send_msg", "text": "Hi", "quick_replies": [written]})))

    assert message["quick_replies"] == [reply]


def translations(*locales: str) -> dict[str, Any]:
    made = [
        {
            "channel": refer(CHANNEL),
            "locale": locale,
            "components": [{"name": "body", "type": "body/text", "content": f"In {locale}", "variables": {}}],
            "variables": [],
        }
        for locale in locales
    ]
    return {"templates": [{**refer(TEMPLATE, "Welcome"), "translations": made}]}


@pytest.mark.parametrize(
    ("locales", "language", "chosen"),
    [
        (["spa-MX", "eng-GB", "eng-US"], "eng", "eng-US"),
        (["spa-MX", "eng-GB"], "eng", "eng-GB"),
        (["eng-US", "spa-MX"], "spa", "spa-MX"),
        (["fra-FR", "kin-RW"], "spa", "fra-FR"),
        (["fra-FR", "eng"], "spa", "eng"),
    ],
)
def test_a_template_is_sent_in_the_best_language_that_it_has(locales: list[str], language: str, chosen: str) -> None:
    action = {"type": "send_msg", "text": "Plain", "template": refer(TEMPLATE, "Welcome"), "template_variables": []}
    played = play(node(0, action), assets=translations(*locales), contact={"language": language})
    assert message_of(played)["text"] == f"In {chosen}"
