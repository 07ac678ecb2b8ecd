"""Actions that send something, and their recipients."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Options
from tests.flows.engine.playing import Played, node, play
from tests.flows.hypothesis.workspace import CHILD, CONTACT, GROUP, LABEL, TOPIC, make_uuid, refer


def act(kind: str, options: dict[str, Any] | None = None, **fields: Any) -> Played:
    return play(node(0, {"type": kind, **fields}), **(options or {}))


def message_of(played: Played) -> dict[str, Any]:
    (made,) = played.of("msg_created")
    message: dict[str, Any] = made["msg"]
    return message


@pytest.mark.parametrize("status", ["blocked", "stopped", "archived"])
def test_contacts_that_are_not_active_get_nothing(status: str) -> None:
    assert (
        message_of(act("send_msg", {"contact": {"status": status}}, text="Hi"))["unsendable_reason"]
        == f"contact_{status}"
    )


def test_empty_and_long_parts_are_dropped_or_cut() -> None:
    played = act(
        "send_msg",
        text="Hi",
        attachments=["image/jpeg:http://example.com/x.jpg", '@("")', 'image:@(repeat("x", 3000))'],
        quick_replies=["Yes", '@("")', "x" * 60 + '@(repeat("y", 60))'],
    )
    message = message_of(played)
    assert message["attachments"] == ["image/jpeg:http://example.com/x.jpg"]
    assert [reply["text"] for reply in message["quick_replies"]] == ["Yes", "x" * 60 + "y..."]
    assert len(played.errors) == 3


@pytest.mark.parametrize("kind", ["image/p\ng", "image/../png", "a b", "image/", "/png", "é", "10", "png", "http"])
def test_attachments_with_odd_media_types_are_ignored(kind: str) -> None:
    played = act("send_msg", text="Hi", attachments=[f"{kind}:http://example.com/x"])
    assert "attachments" not in message_of(played)
    assert played.errors == ["Attachment evaluated to invalid value and will be ignored"]


@pytest.mark.parametrize("kind", ["image", "image/png", "image/svg+xml", "application/x-tar", "unavailable", "geo"])
def test_attachments_with_usual_types_are_sent(kind: str) -> None:
    message = message_of(act("send_msg", text="Hi", attachments=[f"{kind}:http://example.com/x"]))
    assert message["attachments"] == [f"{kind}:http://example.com/x"]


def test_broadcasts_have_a_translation_for_each_language() -> None:
    localization = {"spa": {make_uuid(2): {"text": ["Hola"]}}, "fra": {}}
    played = act("send_broadcast", {"localization": localization}, text="Hi", groups=[refer(GROUP)])
    (made,) = played.of("broadcast_created")
    assert made["translations"] == {"eng": {"text": "Hi"}, "spa": {"text": "Hola"}, "fra": {"text": "Hi"}}
    assert (made["base_language"], made["groups"]) == ("eng", [refer(GROUP)])


def test_a_broadcast_has_base_content_where_a_part_lacks_a_translation() -> None:
    localization = {"spa": {make_uuid(2): {"quick_replies": ["Sí"]}}, "fra": {make_uuid(2): {"text": [""]}}}
    played = act(
        "send_broadcast",
        {"localization": localization},
        text="Hi",
        attachments=["image:http://a/1"],
        quick_replies=["Yes"],
        groups=[refer(GROUP)],
    )
    (made,) = played.of("broadcast_created")
    base = {"text": "Hi", "attachments": ["image:http://a/1"], "quick_replies": [{"type": "text", "text": "Yes"}]}
    spanish = {**base, "quick_replies": [{"type": "text", "text": "Sí"}]}
    assert made["translations"] == {"eng": base, "spa": spanish, "fra": base}


@pytest.mark.parametrize(
    ("variable", "part", "found"),
    [
        (CONTACT, "contacts", [{"uuid": CONTACT, "name": ""}]),
        ("thing", "groups", [refer(GROUP)]),
        ("tel:+12065551213", "urns", ["tel:+12065551213"]),
        ("(206) 555-1213", "urns", ["tel:+12065551213"]),
    ],
)
def test_recipients_by_expression_are_whatever_they_turn_out_to_be(variable: str, part: str, found: Any) -> None:
    (made,) = act("send_broadcast", text="Hi", legacy_vars=[f'@("{variable}")']).of("broadcast_created")
    assert [{**each, "name": ""} if part == "contacts" else each for each in made[part]] == found


def test_sessions_that_start_each_other_without_end_are_stopped() -> None:
    history = {"parent_uuid": make_uuid(8), "ancestors": 9, "ancestors_since_input": 5}
    played = act("start_session", {"trigger": {"history": history}}, flow=refer(CHILD), contacts=[refer(CONTACT)])
    assert (len(played.errors), played.of("session_triggered")) == (1, [])


@pytest.mark.parametrize("recipients", [{"groups": [refer(GROUP)]}, {"contact_query": "age > 18"}])
def test_in_a_batch_nobody_starts_or_writes_to_groups(recipients: dict[str, Any]) -> None:
    batch = {"trigger": {"batch": True}}
    assert act("start_session", batch, flow=refer(CHILD), **recipients).of("session_triggered") == []
    assert act("send_broadcast", batch, text="Hi", **recipients).of("broadcast_created") == []


def test_in_a_batch_contacts_that_are_named_are_started_and_written_to() -> None:
    batch = {"trigger": {"batch": True}}
    assert act("start_session", batch, flow=refer(CHILD), contacts=[refer(CONTACT)]).of("session_triggered") != []
    assert act("send_broadcast", batch, text="Hi", contacts=[refer(CONTACT)]).of("broadcast_created") != []


def test_tickets_of_generation_13_have_a_body_instead_of_a_note() -> None:
    action = {"type": "open_ticket", "assignee": {"email": "ann@example.com"}, "body": "Help", "result_name": "Told"}
    said = {"type": "send_msg", "text": "@ticket.body@(contact.tickets[0].subject)"}
    played = play(node(0, action, said), options=Options(generation=13), spec_version="13.2.0")
    assert message_of(played)["text"] == "Help"
    (opened,) = played.of("ticket_opened")
    topic, assignee = refer(TOPIC, "General"), {"email": "ann@example.com", "name": "Thing"}
    uuid = played.session.runs[0].results["told"].value
    assert opened["ticket"] == {"uuid": uuid, "topic": topic, "assignee": assignee, "body": "Help"}
    assert played.of("ticket_note_added") == []


def _open_ticket() -> dict[str, Any]:
    return {"type": "open_ticket", "topic": None, "note": "Help @contact.first_name"}


def test_no_tickets_are_opened_in_a_batch() -> None:
    played = play(node(0, _open_ticket()), trigger={"batch": True})
    assert (played.of("ticket_opened"), len(played.errors)) == ([], 1)


def test_the_address_of_what_is_said_is_no_template() -> None:
    (spoken,) = act("say_msg", {"type": "voice"}, text="Hi", audio_url="http://x.org/@contact.name").of("ivr_created")
    assert spoken["msg"]["attachments"] == ["audio:http://x.org/@contact.name"]


def test_without_a_message_there_is_nothing_to_label() -> None:
    assert act("add_input_labels", labels=[refer(LABEL)]).errors == ["No input to add labels to"]
