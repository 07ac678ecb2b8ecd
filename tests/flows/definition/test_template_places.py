"""Changing the templates of a definition: all of them, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from flows.definition.template_places import rewrite_templates
from tests.flows.definition.specimens import CASE, SEND, make_case, make_flow, make_node, make_router

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
