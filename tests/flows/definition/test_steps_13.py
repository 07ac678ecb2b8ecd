"""The steps from version 13.0 to 13.6.1, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from flows.definition import migrate
from tests.flows.definition.specimens import (
    CASE,
    SEND,
    TEMPLATING,
    Json,
    make_case,
    make_flow,
    make_node,
    make_router,
    make_uuid,
)

NEW = make_uuid(500)
BODY, BUTTON = make_uuid(501), make_uuid(502)


def step(flow: Json, to: str) -> Json:
    return migrate(flow, to=to, new_uuid=lambda: NEW)


def send(**more: Any) -> Json:
    return {"type": "send_msg", "uuid": SEND, "text": "Hi", **more}


def first_action(flow: Json) -> Any:
    return flow["nodes"][0]["actions"][0]


def test_a_message_template_gets_a_uuid() -> None:
    flow = step(make_flow(make_node(send(templating=TEMPLATING), send())), "13.1.0")

    assert first_action(flow)["templating"] == {"uuid": NEW, **TEMPLATING}
    assert "templating" not in flow["nodes"][0]["actions"][1]


@pytest.mark.parametrize("language", ["base", "", "en", "e1g", None])
def test_a_base_language_that_is_no_code_becomes_undetermined(language: str | None) -> None:
    localization = {"und": {SEND: {"text": ["?"]}}, "spa": {SEND: {"text": ["Hola"]}}}
    flow = make_flow(version="13.1.0", language=language, localization=localization)

    migrated = step(flow, "13.2.0")

    assert migrated["language"] == "und"
    assert migrated["localization"] == {"spa": {SEND: {"text": ["Hola"]}}}


def test_a_base_language_that_is_a_code_stays() -> None:
    localization = {"und": {SEND: {"text": ["?"]}}}
    migrated = step(make_flow(version="13.1.0", localization=localization), "13.2.0")

    assert (migrated["language"], migrated["localization"]) == ("eng", localization)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@webhook", "@webhook.json"),
        ('@webhook.name is @(webhook["a b"])', '@webhook.json.name is @(webhook.json["a b"])'),
        ("@(UPPER( webhook.x ))", "@(upper(webhook.json.x))"),
        ("@@webhook @results.webhook @(  contact.webhook )", "@@webhook @results.webhook @(  contact.webhook )"),
        ("@(webhook", "@(webhook"),
        ("@(webhook +)", "@(webhook +)"),
    ],
)
def test_what_a_webhook_said_is_looked_up_below_json(before: str, after: str) -> None:
    flow = make_flow(make_node(send(text=before)), version="13.2.0", localization={"spa": {SEND: {"text": [before]}}})

    migrated = step(flow, "13.3.0")

    assert first_action(migrated)["text"] == after
    assert migrated["localization"]["spa"][SEND]["text"] == [after]


def test_the_name_of_a_flow_is_no_template() -> None:
    assert step(make_flow(version="13.2.0", name="On @webhook"), "13.3.0")["name"] == "On @webhook"


def test_variables_of_a_message_template_become_those_of_its_body() -> None:
    templating = {**TEMPLATING, "uuid": BUTTON}
    localization = {"spa": {BUTTON: {"variables": ["@contact"]}}, "fra": {SEND: {"text": ["Salut"]}}}
    flow = make_flow(make_node(send(templating=templating)), version="13.3.0", localization=localization)

    migrated = step(flow, "13.4.0")

    assert first_action(migrated)["templating"] == {
        "template": TEMPLATING["template"],
        "components": [{"uuid": NEW, "name": "body", "params": TEMPLATING["variables"]}],
    }
    assert migrated["localization"] == {"spa": {NEW: {"params": ["@contact"]}}, "fra": {SEND: {"text": ["Salut"]}}}


def test_parameters_of_all_components_are_merged_in_every_language() -> None:
    components = [
        {"uuid": BODY, "name": "body", "params": ["@contact", "two"]},
        {"uuid": BUTTON, "name": "button.0", "params": ["yes"]},
    ]
    templating = {"template": TEMPLATING["template"], "components": components}
    localization = {
        "spa": {BUTTON: {"params": ["sí"]}, SEND: {"text": ["Hola"]}},
        "fra": {SEND: {"text": ["Salut"]}},
    }
    flow = make_flow(make_node(send(templating=templating)), version="13.4.0", localization=localization)

    migrated = step(flow, "13.5.0")

    assert first_action(migrated) == send(
        template=TEMPLATING["template"], template_variables=["@contact", "two", "yes"]
    )
    assert migrated["localization"] == {
        "spa": {SEND: {"text": ["Hola"], "template_variables": ["@contact", "two", "sí"]}},
        "fra": {SEND: {"text": ["Salut"]}},
    }


def test_names_of_results_and_categories_are_cut_without_leaving_spaces() -> None:
    action = {"type": "set_run_result", "uuid": SEND, "name": "n" * 63 + " nn", "value": "1", "category": "c" * 40}
    router = make_router("@input", make_case("has_text"), result_name="r" * 70)
    router["categories"][0]["name"] = "a" * 35 + " b"

    migrated = step(make_flow(make_node(action, router=router), version="13.5.0"), "13.6.0")

    node = migrated["nodes"][0]
    assert (node["actions"][0]["name"], node["actions"][0]["category"]) == ("n" * 63, "c" * 36)
    assert node["router"]["result_name"] == "r" * 64
    assert node["router"]["categories"][0]["name"] == "a" * 35


def test_names_that_are_short_enough_stay_as_they_are() -> None:
    action = {"type": "set_run_result", "uuid": SEND, "name": " Age "}

    migrated = step(make_flow(make_node(action), version="13.5.0"), "13.6.0")

    assert first_action(migrated) == action


def test_lookups_of_results_are_cut_as_their_names_were() -> None:
    key = "k" * 70
    template = f'@results.{key} @(UPPER(results.{key}.value)) @(results["{key}"]) @fields.{key}'
    router = make_router("@input", make_case("has_any_word", f"@results.{key}"))
    localization = {"spa": {CASE: {"arguments": [f"@results.{key}"]}}}
    flow = make_flow(make_node(send(text=template), router=router), version="13.6.0", localization=localization)

    migrated = step(flow, "13.6.1")

    short = "k" * 64
    assert first_action(migrated)["text"] == (
        f'@results.{short} @(upper(results.{short}.value)) @(results["{short}"]) @fields.{key}'
    )
    assert migrated["nodes"][0]["router"]["cases"][0]["arguments"] == [f"@results.{short}"]
    assert migrated["localization"]["spa"][CASE]["arguments"] == [f"@results.{short}"]


def test_a_lookup_loses_the_underscore_that_stood_for_a_cut_space() -> None:
    action = {"type": "set_run_result", "uuid": make_uuid(14), "name": "n" * 63 + " nn", "value": "1"}
    template = f"@results.{'n' * 63}_nn"

    migrated = step(make_flow(make_node(send(text=template), action), version="13.5.0"), "13.6.1")

    assert first_action(migrated)["text"] == f"@results.{'n' * 63}"
