"""Old actions in version 13.0."""

from __future__ import annotations

from typing import Any

import pytest

from flows.definition import DefinitionError, migrate
from tests.flows.definition.specimens import (
    ASK,
    FLOW,
    GROUP,
    SEND,
    Json,
    make_action_set,
    make_legacy_flow,
    make_uuid,
)

OTHER = {"uuid": GROUP, "name": "Other"}
MATCH = {"name_match": "@results"}


def migrate_action(**action: Any) -> tuple[Json, Json]:
    """The new action and the localization."""
    flow = make_legacy_flow([make_action_set({"uuid": SEND, **action})], [])
    migrated = migrate(flow, to="13.0.0", media_url="https://files.example.com/")
    action = migrated["nodes"][0]["actions"][0]
    assert action.pop("uuid") == SEND
    return action, migrated["localization"]


def test_a_reply_becomes_a_message_with_its_translations_apart() -> None:
    action, localization = migrate_action(
        type="reply",
        msg={"eng": "Hi @contact.age", "spa": "Hola @flow.x", "base": "Hey"},
        media={"eng": "image/jpeg:a/b.jpg", "spa": "/c.jpg"},
        quick_replies=[{"eng": "Yes", "spa": "Sí"}, {"eng": "No"}],
        send_all=True,
    )

    assert action == {
        "type": "send_msg",
        "text": "Hi @fields.age",
        "attachments": ["image/jpeg:https://files.example.com/a/b.jpg"],
        "quick_replies": ["Yes", "No"],
        "all_urns": True,
    }
    assert localization == {
        "spa": {
            SEND: {
                "text": ["Hola @results.x"],
                "attachments": ["image:https://files.example.com/c.jpg"],
                "quick_replies": ["Sí", ""],
            }
        }
    }


@pytest.mark.parametrize("message", ["Hi @contact", {"base": "Hi @contact"}, {"eng": "Hi @contact"}])
def test_a_text_that_was_never_translated_is_in_the_language_of_the_flow(message: Any) -> None:
    assert migrate_action(type="reply", msg=message, media={}) == ({"type": "send_msg", "text": "Hi @contact"}, {})


@pytest.mark.parametrize("media", ["image:http://a.b/c.jpg", "image:https://a.b/@contact.id", "@contact.photo"])
def test_attachments_that_are_addresses_or_expressions_are_not_taken_for_files(media: str) -> None:
    action, _ = migrate_action(type="reply", msg="x", media=media)

    assert action["attachments"] == [media.replace("@contact.photo", "@fields.photo")]


def test_a_message_to_others_becomes_a_broadcast() -> None:
    action, _ = migrate_action(
        type="send",
        msg={"eng": "Hi"},
        contacts=[{"uuid": GROUP, "name": "Bob"}, {"id": 3, "name": "Of another workspace"}],
        groups=[OTHER, {"name": "By name"}],
        variables=[{"id": "@contact.boss"}, {"id": "+12065551212"}],
    )

    assert action == {
        "type": "send_broadcast",
        "text": "Hi",
        "contacts": [{"uuid": GROUP, "name": "Bob"}],
        "groups": [OTHER, {"name_match": "By name"}],
        "legacy_vars": ["@fields.boss", "+12065551212"],
    }


def test_flows_are_entered_for_good_or_started_for_others() -> None:
    start = {"type": "trigger-flow", "flow": OTHER, "variables": [{"id": "@new_contact"}, {"id": "@flow.x"}]}

    assert migrate_action(type="flow", flow=OTHER)[0] == {"type": "enter_flow", "flow": OTHER, "terminal": True}
    assert migrate_action(**start)[0] == {
        "type": "start_session",
        "flow": OTHER,
        "legacy_vars": ["@results.x"],
        "create_contact": True,
    }


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("name", {"type": "set_contact_name", "name": "@results.x"}),
        ("first_name", {"type": "set_contact_name", "name": "@results.x @(word_slice(contact.name, 1, -1))"}),
        ("tel_e164", {"type": "add_contact_urn", "scheme": "tel", "path": "@results.x"}),
        ("mailto", {"type": "add_contact_urn", "scheme": "mailto", "path": "@results.x"}),
        ("age", {"type": "set_contact_field", "field": {"key": "age", "name": "Label"}, "value": "@results.x"}),
    ],
)
def test_what_is_saved_goes_to_name_address_or_field(field: str, expected: Json) -> None:
    assert migrate_action(type="save", field=field, label="Label", value="@flow.x")[0] == expected


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([OTHER, "@flow.x", "Plain"], {"groups": [OTHER, {"name_match": "@results.x"}, {"name_match": "Plain"}]}),
        ([], {"all_groups": True}),
    ],
)
def test_contacts_leave_the_groups_named_or_all(groups: list[Any], expected: Json) -> None:
    assert migrate_action(type="del_group", groups=groups)[0] == {"type": "remove_contact_groups", **expected}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"type": "add_group", "groups": [OTHER]}, {"type": "add_contact_groups", "groups": [OTHER]}),
        (
            {"type": "add_label", "labels": ["@step"]},
            {"type": "add_input_labels", "labels": [{"name_match": "@input"}]},
        ),
        ({"type": "lang", "lang": "spa", "name": "Spanish"}, {"type": "set_contact_language", "language": "spa"}),
        ({"type": "channel", "channel": GROUP, "name": "Other"}, {"type": "set_contact_channel", "channel": OTHER}),
        (
            {"type": "email", "emails": ["@contact.boss"], "subject": "@flow.x", "msg": "@step"},
            {"type": "send_email", "addresses": ["@fields.boss"], "subject": "@results.x", "body": "@input"},
        ),
        ({"type": "play", "url": "@flow.x"}, {"type": "play_audio", "audio_url": "@results.x"}),
        (
            {"type": "say", "msg": {"eng": "Hi"}, "recording": {"eng": "a.m4a"}},
            {"type": "say_msg", "text": "Hi", "audio_url": "https://files.example.com/a.m4a"},
        ),
        ({"type": "say", "msg": {"eng": "Hi"}, "recording": None}, {"type": "say_msg", "text": "Hi"}),
        (
            {"type": "api", "webhook": "http://a.b/@step", "action": "GET"},
            {"type": "call_webhook", "method": "GET", "url": "http://a.b/@(url_encode(input))"},
        ),
    ],
    ids=lambda part: part["type"],
)
def test_other_actions_have_new_names_and_properties(action: Json, expected: Json) -> None:
    assert migrate_action(**action)[0] == expected


def test_an_action_without_a_uuid_gets_one() -> None:
    flow = make_legacy_flow([make_action_set({"type": "lang", "lang": "spa"})], [])

    migrated = migrate(flow, to="13.0.0", new_uuid=lambda: make_uuid(77))

    assert migrated["nodes"][0]["actions"][0]["uuid"] == make_uuid(77)


def test_an_unknown_action_is_refused_with_its_place() -> None:
    with pytest.raises(DefinitionError) as caught:
        migrate_action(type="smoke")

    assert (caught.value.flow, caught.value.node, caught.value.field) == (FLOW, ASK, "actions.type")
