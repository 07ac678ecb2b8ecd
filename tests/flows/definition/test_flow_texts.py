"""The texts of a flow: templates with their translations, and what translators get.

Changing the templates of a definition: all of them, and nothing else.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from flows.definition import load
from flows.definition.flow_texts import list_localizables, list_templates
from flows.definition.template_places import rewrite_templates
from tests.flows.definition.specimens import CASE, GROUP, SEND, Json, make_case, make_flow, make_node, make_router

MESSAGE: Json = {
    "type": "send_msg",
    "uuid": SEND,
    "text": "Hi",
    "attachments": ["image:http://example.com/1.jpg"],
    "quick_replies": ["Yes", ""],
    "template": {"uuid": GROUP, "name": "welcome"},
    "template_variables": ["@contact.name"],
}


def list_texts(action: Json, localization: Json | None = None) -> list[str]:
    flow = load(make_flow(make_node(action), version="14.4.2", localization=localization or {}))
    return [found.text for found in list_templates(flow)]


def test_templates_of_a_message_come_in_order_without_empty_ones() -> None:
    assert list_texts(MESSAGE) == ["Hi", "image:http://example.com/1.jpg", "Yes", "@contact.name"]


def test_each_property_is_followed_by_its_translations_by_language() -> None:
    localization = {"spa": {SEND: {"text": ["Hola"]}}, "fra": {SEND: {"text": ["Salut"], "name": ["unused"]}}}

    assert list_texts(MESSAGE, localization)[:4] == ["Hi", "Salut", "Hola", "image:http://example.com/1.jpg"]


def test_headers_and_references_by_template_are_templates() -> None:
    call = {"type": "call_webhook", "uuid": SEND, "method": "GET", "url": "http://x.org", "headers": {"A": "@fields.a"}}
    group = {"type": "add_contact_groups", "uuid": SEND, "groups": [{"name_match": "@fields.b"}]}

    assert list_texts(call) == ["http://x.org", "@fields.a"]
    assert list_texts(group) == ["@fields.b"]


def test_operands_arguments_and_the_phone_of_a_dial_are_templates() -> None:
    wait = {"type": "dial", "phone": "@fields.phone"}
    router = make_router("@input", make_case("has_phrase", "@fields.a"), wait=wait)
    localization = {"spa": {CASE: {"arguments": ["@fields.b"]}}}
    flow = load(make_flow(make_node(router=router), version="14.4.2", type="voice", localization=localization))

    assert [found.text for found in list_templates(flow)] == ["@input", "@fields.a", "@fields.b", "@fields.phone"]


def test_a_category_of_a_result_is_translated_but_no_template() -> None:
    result = {"type": "set_run_result", "uuid": SEND, "name": "Age", "value": "@input", "category": "Known"}
    flow = load(make_flow(make_node(result, router=make_router("@x", make_case("has_phrase", "yes")))))

    assert [found.text for found in list_templates(flow)] == ["@input", "@x", "yes"]
    assert [found.text for found in list_localizables(flow)] == ["Known", "yes", "Yes"]


def test_the_blanks_of_a_channels_template_are_not_for_translators() -> None:
    flow = load(make_flow(make_node(MESSAGE), version="14.4.2"))

    assert [found.text for found in list_localizables(flow)] == ["Hi", "image:http://example.com/1.jpg", "Yes"]
    assert {found.place.field for found in list_localizables(flow)} == {"text", "attachments", "quick_replies"}


PLACES: list[dict[str, Any]] = [
    {"type": "add_contact_groups", "groups": [{"name_match": "x"}]},
    {"type": "add_input_labels", "labels": [{"name_match": "x"}]},
    {"type": "add_contact_urn", "path": "x"},
    {"type": "call_webhook", "url": "x", "body": "x", "headers": {"A": "x"}},
    {"type": "open_ticket", "note": "x", "body": "x", "assignee": {"email_match": "x"}},
    {"type": "say_msg", "text": "x"},
    {"type": "play_audio", "audio_url": "x"},
    {
        "type": "send_broadcast",
        "text": "x",
        "contact_query": "x",
        "legacy_vars": ["x"],
        "groups": [{"name_match": "x"}],
    },
    {"type": "send_email", "addresses": ["x"], "subject": "x", "body": "x"},
    {"type": "send_msg", "text": "x", "attachments": ["x"], "quick_replies": ["x", "x"], "template_variables": ["x"]},
    {"type": "send_msg", "templating": {"variables": ["x"], "components": [{"params": ["x"]}]}},
    {"type": "set_contact_field", "value": "x", "field": {}},
    {"type": "set_run_result", "value": "x"},
    {"type": "start_session", "contact_query": "x", "legacy_vars": ["x"]},
]


def mark(template: str) -> str:
    return "changed" if template == "x" else "also changed"


@pytest.mark.parametrize("action", PLACES, ids=lambda action: action["type"])
def test_every_template_of_an_action_is_changed(action: dict[str, Any]) -> None:
    flow = make_flow(make_node({**copy.deepcopy(action), "uuid": SEND}))

    rewrite_templates(flow, mark)

    assert "'x'" not in str(flow["nodes"])
    assert str(flow["nodes"]).count("'changed'") == str(action).count("'x'")


def test_operands_arguments_and_phones_of_routers_are_changed() -> None:
    router = make_router("x", make_case("has_any_word", "x"), wait={"type": "dial", "phone": "x"})
    flow = make_flow(make_node(router=router))

    rewrite_templates(flow, mark)

    changed = flow["nodes"][0]["router"]
    assert (changed["operand"], changed["wait"]["phone"]) == ("changed", "changed")
    assert changed["cases"][0]["arguments"] == ["changed"]


def test_translations_are_changed_even_where_the_definition_has_nothing() -> None:
    localization = {"spa": {SEND: {"attachments": ["x"], "smoke": ["x"]}}}
    flow = make_flow(make_node({"type": "send_msg", "uuid": SEND, "text": "x"}), localization=localization)

    rewrite_templates(flow, mark)

    assert flow["localization"] == {"spa": {SEND: {"attachments": ["changed"], "smoke": ["x"]}}}


def test_translations_that_two_cases_share_are_changed_once() -> None:
    router = make_router("x", make_case("has_any_word", "x"), make_case("has_phrase", "x"))
    flow = make_flow(make_node(router=router), localization={"spa": {CASE: {"arguments": ["x"]}}})

    rewrite_templates(flow, lambda template: f"{template}!")

    assert flow["localization"]["spa"][CASE]["arguments"] == ["x!"]


def test_names_and_categories_are_no_templates() -> None:
    action = {"type": "set_run_result", "uuid": SEND, "name": "x", "category": "x"}
    flow = make_flow(make_node(action), name="x")

    rewrite_templates(flow, mark)

    assert (flow["name"], flow["nodes"][0]["actions"]) == ("x", [action])
