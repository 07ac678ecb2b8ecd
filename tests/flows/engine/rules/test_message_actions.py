"""Actions that write and speak, rule by rule (flow format, section 4, messages)."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Options, Services
from flows.engine.services import ServiceError
from tests.flows.engine.playing import Played, node, play
from tests.flows.hypothesis.workspace import CHANNEL, CONTACT, GROUP, OPTIN, SMART, make_uuid, refer

EARLY = {"options": Options(generation=13), "spec_version": "13.2.0"}
SECOND = {**refer(make_uuid(62), "Post"), "address": "x@y.z", "schemes": ["mailto"], "roles": ["send"]}
FIRST = {**refer(CHANNEL), "address": "+12065550100", "schemes": ["tel"], "roles": ["send"], "country": "US"}
INBOX = {**refer(make_uuid(64), "Inbox"), "address": "5", "schemes": ["tel", "mailto"], "roles": ["receive"]}
CALL = {"uuid": make_uuid(76), "channel": refer(CHANNEL), "urn": "tel:+12065551212"}
ACTION = make_uuid(2)


def act(kind: str, options: dict[str, Any] | None = None, **fields: Any) -> Played:
    return play(node(0, {"type": kind, **fields}), **(options or {}))


def sent(played: Played) -> list[dict[str, Any]]:
    return [event["msg"] for event in played.events if event["type"] in ("msg_created", "ivr_created")]


def with_channels(*channels: dict[str, Any], urns: list[str]) -> dict[str, Any]:
    return {"assets": {"channels": list(channels)}, "contact": {"urns": urns}}


TEL, MAIL = "tel:+12065551212", "mailto:ann@example.com"


@pytest.mark.parametrize(
    ("channels", "urns", "route"),
    [
        ([FIRST, SECOND], [TEL, MAIL], (TEL, CHANNEL)),
        ([FIRST, SECOND], [MAIL, TEL], (MAIL, SECOND["uuid"])),
        ([FIRST], [MAIL, TEL], (TEL, CHANNEL)),
        ([INBOX, FIRST], [f"{TEL}?channel={INBOX['uuid']}"], (TEL, CHANNEL)),
        ([INBOX, FIRST], [TEL], (TEL, CHANNEL)),
        ([SECOND, FIRST], [TEL], (TEL, CHANNEL)),
        ([FIRST], [f"{TEL}?channel={make_uuid(69)}"], (TEL, CHANNEL)),
        ([FIRST, SECOND], [f"{TEL}?channel={SECOND['uuid']}"], (TEL, SECOND["uuid"])),
    ],
)
def test_a_message_takes_the_first_address_that_a_channel_can_send_to(
    channels: Any, urns: list[str], route: tuple[str, str]
) -> None:
    (message,) = sent(act("send_msg", with_channels(*channels, urns=urns), text="Hi"))
    assert (message["urn"], message["channel"]["uuid"]) == route


@pytest.mark.parametrize(("early", "reason"), [(False, "no_route"), (True, "no_destination")])
@pytest.mark.parametrize("channels", [[], [INBOX], [SECOND]])
def test_without_a_route_there_is_one_message_that_cannot_be_sent(early: bool, reason: str, channels: Any) -> None:
    options = with_channels(*channels, urns=[TEL]) | (EARLY if early else {})
    (message,) = sent(act("send_msg", options, text="Hi"))
    assert (message["unsendable_reason"], "urn" in message, "channel" in message) == (reason, False, False)


def test_to_all_addresses_went_one_message_for_each_in_generation_13() -> None:
    options = with_channels(FIRST, SECOND, urns=[MAIL, "telegram:5", TEL]) | EARLY
    messages = sent(act("send_msg", options, text="Hi", all_urns=True))
    assert [message["urn"] for message in messages] == [MAIL, TEL]
    assert len({message["uuid"] for message in messages}) == 2
    assert len(sent(act("send_msg", options, text="Hi"))) == 1


def test_a_message_has_its_topic_in_generation_13() -> None:
    assert sent(act("send_msg", EARLY, text="Hi", topic="event"))[0]["topic"] == "event"


@pytest.mark.parametrize(("urns", "reason"), [([], "no_route"), ([TEL], "contact_blocked")])
def test_without_a_route_it_does_not_matter_that_a_contact_is_blocked(urns: list[str], reason: str) -> None:
    options = {"contact": {"status": "blocked", "urns": urns}}
    assert sent(act("send_msg", options, text="Hi"))[0]["unsendable_reason"] == reason


@pytest.mark.parametrize("text", ['@("")', "@(1 / 0)", " "])
def test_a_message_with_nothing_in_it_is_made_all_the_same(text: str) -> None:
    (message,) = sent(act("send_msg", text=text))
    assert message["text"].strip() == ""


def test_of_texts_attachments_and_replies_remains_what_could_be_evaluated() -> None:
    (message,) = sent(act("send_msg", text="a@(1 / 0)b", attachments=["image:x@(1 / 0)"], quick_replies=["y@(1 / 0)"]))
    assert (message["text"], message["attachments"]) == ("ab", ["image:x"])
    assert message["quick_replies"] == [{"type": "text", "text": "y"}]


@pytest.mark.parametrize(
    ("country", "channels", "locale"),
    [("US", [FIRST], "eng-US"), ("RW", [{**FIRST, "country": "RW", "allow_international": True}], "eng-RW")],
)
def test_the_locale_is_language_and_country_of_the_channel(country: str, channels: Any, locale: str) -> None:
    (message,) = sent(act("send_msg", with_channels(*channels, urns=[TEL]), text="Hi"))
    assert message["locale"] == locale


@pytest.mark.parametrize(
    ("fields", "translated", "locale"),
    [
        ({"text": "Hi"}, {"text": ["Hola"]}, "spa-US"),
        ({"text": "Hi", "quick_replies": ["a"]}, {"quick_replies": ["b"]}, "eng-US"),
        ({"text": "", "attachments": ["image:a"]}, {"attachments": ["image:b"]}, "spa-US"),
        ({"text": "", "quick_replies": ["a"]}, {"quick_replies": ["b"]}, "spa-US"),
        ({"text": '@("")', "attachments": ["image:a"]}, {"attachments": ["image:b"]}, "eng-US"),
    ],
)
def test_a_message_has_the_language_of_the_first_part_that_was_written(
    fields: dict[str, Any], translated: dict[str, Any], locale: str
) -> None:
    options = {"localization": {"spa": {ACTION: translated}}, "contact": {"language": "spa"}}
    assert sent(act("send_msg", options, **fields))[0]["locale"] == locale


# Calls


def speak(kind: str, options: dict[str, Any] | None = None, **fields: Any) -> Played:
    return act(kind, {"type": "voice", "call": CALL, **(options or {})}, **fields)


@pytest.mark.parametrize(
    ("fields", "text", "attachments"),
    [
        ({"text": " Hi @contact.first_name "}, "Hi Ann", None),
        ({"text": "Hi", "audio_url": "http://a/1"}, "Hi", ["audio:http://a/1"]),
        ({"text": "", "audio_url": "http://a/1"}, "", ["audio:http://a/1"]),
        ({"text": "@(1 / 0)", "audio_url": "http://a/1"}, "", ["audio:http://a/1"]),
    ],
)
def test_what_is_said_is_text_with_or_without_a_recording(fields: Any, text: str, attachments: Any) -> None:
    (message,) = sent(speak("say_msg", **fields))
    assert (message["text"], message.get("attachments"), message["urn"]) == (text, attachments, TEL)


@pytest.mark.parametrize("text", ["", " ", '@("")', "@(1 / 0)"])
def test_with_neither_text_nor_recording_there_is_nothing_to_say(text: str) -> None:
    played = speak("say_msg", text=text or '@("")')
    assert sent(played) == []
    assert played.errors[-1] == "Can't say message without audio URL or backdown text"


def test_recordings_are_localized() -> None:
    options = {"localization": {"spa": {ACTION: {"audio_url": ["http://a/es"]}}}, "contact": {"language": "spa"}}
    for kind in ("say_msg", "play_audio"):
        (message,) = sent(speak(kind, options, text="", audio_url="http://a/en"))
        assert message["attachments"] == ["audio:http://a/es"]


# Broadcasts


def test_recipients_of_every_kind_are_told_as_they_are() -> None:
    played = act(
        "send_broadcast",
        text="Hi",
        groups=[refer(GROUP), {"name_match": 'Adul@("ts")'}],
        contacts=[refer(CONTACT, "Ann")],
        contact_query="age > @(10 + 8)",
        urns=["tel:+12065559999"],
    )
    (event,) = played.of("broadcast_created")
    assert event == {
        "translations": {"eng": {"text": "Hi"}},
        "base_language": "eng",
        "groups": [refer(GROUP), refer(SMART, "Adults")],
        "contacts": [refer(CONTACT, "Ann")],
        "contact_query": 'age > "18"',
        "urns": ["tel:+12065559999"],
    }


@pytest.mark.parametrize("recipients", [{}, {"groups": []}, {"contact_query": " "}, {"groups": [refer(make_uuid(69))]}])
def test_without_recipients_nothing_is_broadcast(recipients: dict[str, Any]) -> None:
    assert act("send_broadcast", text="Hi", **recipients).of("broadcast_created") == []


@pytest.mark.parametrize("value", ["x", 'x" OR age > 0', "a\\", 'a\\" OR name != "', "(", "* = AND"])
def test_variables_cannot_change_the_structure_of_a_query(value: str) -> None:
    options = {"contact": {"name": value}}
    played = act("send_broadcast", options, text="Hi", contact_query='name = @contact.name AND town = ""')
    (event,) = played.of("broadcast_created")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    assert event["contact_query"] == f'name = "{escaped}" AND town = ""'


@pytest.mark.parametrize("query", ["age >", "foo = 1", 'age > "x"', "@(1 / 0)", "age > 18 @(1 / 0)"])
def test_a_query_that_does_not_parse_is_an_error(query: str) -> None:
    played = act("send_broadcast", text="Hi", contact_query=query)
    assert (played.of("broadcast_created"), len(played.errors)) == ([], 1)


def test_a_variable_that_is_nothing_known_is_an_error_and_the_others_count() -> None:
    played = act("send_broadcast", text="Hi", legacy_vars=["@(1 / 0)", "nobody", CONTACT.upper(), "adults"])
    (event,) = played.of("broadcast_created")
    assert (event["contacts"][0]["uuid"].lower(), event["groups"]) == (CONTACT, [refer(SMART, "Adults")])
    assert len(played.errors) == 3


# E-mail


class Post:
    """Remembers what it is given."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem
        self.letters: list[tuple[list[str], str, str]] = []

    def send(self, addresses: Any, subject: str, body: str) -> None:
        if self.problem:
            raise ServiceError(self.problem)
        self.letters.append((list(addresses), subject, body))


def mail(post: Post, options: dict[str, Any] | None = None, **fields: Any) -> Played:
    letter = {"addresses": ["bob@example.com"], "subject": "Hi", "body": "Hello"}
    return act("send_email", {"services": Services(email=post), **(options or {})}, **{**letter, **fields})


def test_a_letter_is_sent_through_the_host_and_told() -> None:
    post = Post()
    played = mail(
        post,
        addresses=["mailto:bob@example.com", '@("")', " @contact.first_name@@example.com "],
        subject=' Two\n  @("words\\t")here ',
        body="Dear\n@contact.first_name",
    )
    letter = (["bob@example.com", "Ann@example.com"], "Two words here", "Dear\nAnn")
    assert post.letters == [letter]
    assert played.of("email_sent") == [dict(zip(("to", "subject", "body"), letter, strict=True))]
    assert played.errors == ["Email address evaluated to empty string, skipping"]


def test_a_letter_is_in_the_language_of_the_contact() -> None:
    post = Post()
    translated = {"subject": ["Hola"], "body": ["Querida @contact.first_name"]}
    mail(post, {"localization": {"spa": {ACTION: translated}}, "contact": {"language": "spa"}})
    assert post.letters == [(["bob@example.com"], "Hola", "Querida Ann")]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"subject": '@(" ")'}, ["Email subject evaluated to empty string, skipping"]),
        ({"body": '@("")'}, ["Email body evaluated to empty string, skipping"]),
        ({"addresses": ['@("")', "mailto:"]}, ["Email address evaluated to empty string, skipping"] * 2),
        ({"addresses": []}, []),
    ],
)
def test_a_letter_that_lacks_something_is_not_sent(fields: dict[str, Any], errors: list[str]) -> None:
    post = Post()
    played = mail(post, **fields)
    assert (post.letters, played.of("email_sent"), played.errors) == ([], [], errors)


def test_a_letter_that_cannot_be_sent_is_an_error() -> None:
    played = mail(Post("no server"))
    assert (played.of("email_sent"), played.errors) == ([], ["Unable to send email: no server"])


# Opting in


def test_asking_to_opt_in_is_told_in_generation_13_and_not_supported_later() -> None:
    early = act("request_optin", EARLY, optin=refer(OPTIN))
    (asked,) = early.of("optin_requested")
    assert asked == {"optin": refer(OPTIN), "channel": refer(CHANNEL), "urn": TEL}
    (error,) = act("request_optin", optin=refer(OPTIN)).of("error")
    assert error["code"] == "action:unsupported"
