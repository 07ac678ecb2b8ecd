"""Changing the base language of a flow."""

from __future__ import annotations

import copy

import pytest

from flows.definition import DefinitionError, change_base_language, load
from tests.flows.definition.specimens import (
    CASE,
    GROUP,
    OUT,
    SEND,
    YES,
    Json,
    make_case,
    make_flow,
    make_node,
    make_router,
    make_uuid,
)

MESSAGE: Json = {"type": "send_msg", "uuid": SEND, "text": "Hi", "quick_replies": ["Yes", "No"]}
RESULT: Json = {"type": "set_run_result", "uuid": make_uuid(12), "name": "Age", "value": "1", "category": "Known"}
FLOW = make_flow(
    make_node(MESSAGE, RESULT, router=make_router("@input", make_case("has_any_word", "yes"))),
    version="14.4.2",
    localization={
        "spa": {SEND: {"text": ["Hola"], "quick_replies": ["Sí"]}, YES: {"name": ["Sí"]}, CASE: {"arguments": ["sí"]}},
        "fra": {SEND: {"text": ["Salut"]}},
    },
    _ui={"nodes": {}},
)


def test_a_translation_takes_the_place_of_the_texts_which_become_one() -> None:
    changed = change_base_language(FLOW, "spa")

    action, result = changed["nodes"][0]["actions"]
    router = changed["nodes"][0]["router"]
    assert changed["language"] == "spa"
    assert (action["text"], action["quick_replies"], result["category"]) == ("Hola", ["Sí"], "Known")
    assert (router["categories"][0]["name"], router["cases"][0]["arguments"]) == ("Sí", ["sí"])
    assert changed["localization"] == {
        "fra": {SEND: {"text": ["Salut"]}},
        "eng": {
            SEND: {"text": ["Hi"], "quick_replies": ["Yes", "No"]},
            make_uuid(12): {"category": ["Known"]},
            CASE: {"arguments": ["yes"]},
            YES: {"name": ["Yes"]},
        },
    }
    load(changed)


def test_there_and_back_is_the_same_flow_with_more_translations() -> None:
    back = change_base_language(change_base_language(FLOW, "spa"), "eng")

    assert back["nodes"] == FLOW["nodes"]
    assert back["localization"]["spa"][SEND] == {"text": ["Hola"], "quick_replies": ["Sí"]}


def test_the_given_definition_stays_as_it_is() -> None:
    before = copy.deepcopy(FLOW)

    change_base_language(FLOW, "spa")

    assert before == FLOW


def test_what_is_not_translated_stays_and_a_language_without_translations_may_be_chosen() -> None:
    changed = change_base_language(FLOW, "kin")

    assert changed["language"] == "kin"
    assert changed["nodes"] == FLOW["nodes"]
    assert changed["localization"]["eng"][SEND]["text"] == ["Hi"]


def test_the_same_language_changes_nothing() -> None:
    assert change_base_language(FLOW, "eng") == FLOW


def test_translated_arguments_of_another_number_have_no_effect() -> None:
    flow = copy.deepcopy(FLOW)
    flow["localization"]["spa"][CASE]["arguments"] = ["sí", "claro"]

    assert change_base_language(flow, "spa")["nodes"][0]["router"]["cases"][0]["arguments"] == ["yes"]


def test_the_blanks_of_a_channels_template_change_along() -> None:
    action = {**MESSAGE, "template": {"uuid": GROUP, "name": "welcome"}, "template_variables": ["Hello"]}
    flow = make_flow(
        make_node(action), version="14.4.2", localization={"spa": {SEND: {"template_variables": ["Buenos días"]}}}
    )

    changed = change_base_language(flow, "spa")

    assert changed["nodes"][0]["actions"][0]["template_variables"] == ["Buenos días"]
    assert changed["localization"]["eng"][SEND]["template_variables"] == ["Hello"]


def test_what_only_the_translation_has_comes_with_it() -> None:
    flow = copy.deepcopy(FLOW)
    flow["localization"]["spa"][SEND]["attachments"] = ["image:http://example.com/es.jpg"]

    changed = change_base_language(flow, "spa")

    assert changed["nodes"][0]["actions"][0]["attachments"] == ["image:http://example.com/es.jpg"]
    assert "attachments" not in changed["localization"]["eng"][SEND]


def test_a_translation_that_is_too_long_for_its_place_is_refused() -> None:
    flow = copy.deepcopy(FLOW)
    flow["localization"]["spa"][YES]["name"] = ["x" * 65]

    with pytest.raises(DefinitionError) as caught:
        change_base_language(flow, "spa")

    assert caught.value.field == "router.categories[0].name"


@pytest.mark.parametrize("language", ["", "en", "vvv", "english"])
def test_only_languages_can_be_chosen(language: str) -> None:
    with pytest.raises(DefinitionError):
        change_base_language(FLOW, language)


def test_exits_and_the_editors_data_are_kept() -> None:
    changed = change_base_language(FLOW, "spa")

    assert changed["nodes"][0]["exits"] == [{"uuid": OUT, "destination_uuid": None}]
    assert changed["_ui"] == FLOW["_ui"]
