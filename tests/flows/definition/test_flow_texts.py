"""The texts of a flow: templates with their translations, and what translators get."""

from __future__ import annotations

from flows.definition import load
from flows.definition.flow_texts import list_localizables, list_templates
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
