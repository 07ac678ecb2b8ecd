"""Texts of a flow for translators, and what comes back from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import translation_files
from flows.definition import DefinitionError, load
from flows.translation_files import (
    MOST_CHARACTERS,
    Change,
    Row,
    TranslationFileError,
    apply_changes,
    compare,
    list_rows,
    read_po,
    write_po,
)
from testbed.flow_rows import ask, definition, node, say, uuid_of

HELLO = uuid_of("say Hello @contact.name")
MENU = say("Hello @contact.name", quick_replies=["Yes", "No"])
FLOW = load(
    definition(
        "Ask",
        [ask("q", {"yes": None}, None, actions=[MENU])],
        localization={"fra": {HELLO: {"text": ["Salut @contact.name"], "quick_replies": ["Oui"]}}},
    )
)


def rows_of(**said: str) -> list[Row]:
    """The rows of the flow, with translations for some of its texts."""
    return [row._replace(translation=said.get(row.text, "")) for row in list_rows(FLOW, "fra")]


def test_all_texts_of_the_flow_are_there_with_their_translations() -> None:
    assert [(row.text, row.translation) for row in list_rows(FLOW, "fra")] == [
        ("Hello @contact.name", "Salut @contact.name"),
        ("Yes", "Oui"),
        ("No", ""),
        ("yes", ""),
        ("yes", ""),
        ("Other", ""),
    ]


def test_a_file_that_was_not_changed_changes_nothing() -> None:
    changes = compare(FLOW, "fra", read_po(write_po(FLOW, "fra", list_rows(FLOW, "fra"))))

    assert changes == []
    assert apply_changes(FLOW, "fra", changes) == FLOW.raw


def test_what_a_file_says_is_taken_and_what_it_lacks_stays() -> None:
    changes = compare(FLOW, "fra", rows_of(No="Non", Other="Autre"))

    localization = apply_changes(FLOW, "fra", changes)["localization"]["fra"]
    assert localization[HELLO] == {"text": ["Salut @contact.name"], "quick_replies": ["Oui", "Non"]}
    assert localization[uuid_of("q Other")] == {"name": ["Autre"]}
    assert "localization" in FLOW.raw
    assert uuid_of("q Other") not in FLOW.raw["localization"]["fra"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"translation": "Bonjour @contact.name"}, ""),
        ({"translation": "@contact.name, bonjour"}, ""),
        ({"text": "  Hello  @contact.name\n", "translation": "Bonjour @contact.name"}, ""),
        ({"translation": "Bonjour @contact.nmae"}, "expressions"),
        ({"translation": "Bonjour"}, "expressions"),
        ({"translation": "Bonjour @contact.name @contact.name"}, "expressions"),
        ({"text": "Hi @contact.name", "translation": "Bonjour @contact.name"}, "outdated"),
        ({"translation": "Bonjour @contact.name", "is_fuzzy": True}, "fuzzy"),
        ({"key": f"{HELLO}/text/7", "translation": "Bonjour @contact.name"}, "unknown"),
        ({"key": "../../x", "translation": "Bonjour"}, "unknown"),
    ],
)
def test_what_does_not_fit_is_left_out_with_the_reason(change: dict[str, Any], problem: str) -> None:
    row = list_rows(FLOW, "fra")[0]._replace(**change)

    [told] = compare(FLOW, "fra", [row])

    assert told.problem == problem
    said = apply_changes(FLOW, "fra", [told])["localization"]["fra"][HELLO]["text"]
    assert said == ["Salut @contact.name" if problem else row.translation]


def test_a_translation_that_is_too_long_is_refused() -> None:
    flow = replace(FLOW, raw={**FLOW.raw, "spec_version": "14.4.2"})
    change = Change(list_rows(FLOW, "fra")[2]._replace(translation="x" * 10_001), "")

    with pytest.raises(DefinitionError, match="at most 10000"):
        apply_changes(flow, "fra", [change])


@pytest.mark.parametrize("language", ["eng", "fr", "xxxx", "../", ""])
def test_the_language_is_another_one_than_that_of_the_flow(language: str) -> None:
    with pytest.raises(TranslationFileError):
        list_rows(FLOW, language)


@given(st.lists(st.tuples(st.text(min_size=1), st.text()), max_size=5))
def test_texts_of_any_characters_come_back(texts: list[tuple[str, str]]) -> None:
    nodes = [node(f"n{at}", [{**say(text), "uuid": uuid_of(f"a{at}")}]) for at, (text, _) in enumerate(texts)]
    localization = {"fra": {uuid_of(f"a{at}"): {"text": [said]} for at, (_, said) in enumerate(texts)}}
    flow = load(definition("Any", nodes, localization=localization))

    assert read_po(write_po(flow, "fra", list_rows(flow, "fra"))) == [
        row._replace(where="") for row in list_rows(flow, "fra")
    ]


def test_files_of_other_programs_are_read() -> None:
    content = (
        '\ufeff# by hand\r\nmsgid ""\r\nmsgstr ""\r\n"Language: fr\\n"\r\n\r\n'
        '#: q:1\n#, fuzzy, c-format\nmsgctxt "a/text/0"\nmsgid ""\n"Two "\n"lines\\n"\nmsgstr "Deux"\n"\\tlignes"\n'
        'msgctxt "b/text/0"\nmsgid "x"\nmsgstr ""\n\n'
        '#~ msgctxt "c/text/0"\n#~ msgid "old"\n#~ msgstr "vieux"\n\n'
        'msgctxt "d/text/0"\nmsgid "one"\nmsgid_plural "many"\nmsgstr[0] "un"\nmsgstr[1] "plusieurs"\n'
    )
    assert read_po(content) == [
        Row("a/text/0", "", "Two lines\n", "Deux\tlignes", is_fuzzy=True),
        Row("b/text/0", "", "x", ""),
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("hello", "line 1"),
        ('msgid "a"\nmsgstr "b"\nthis', "line 3"),
        ("x" * (MOST_CHARACTERS + 1), "at most"),
    ],
)
def test_what_is_no_such_file_is_refused(content: str, sentence: str) -> None:
    with pytest.raises(TranslationFileError, match=sentence):
        read_po(content)


def test_a_file_has_a_number_of_texts_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation_files, "MOST_ROWS", 2)
    entry = 'msgctxt "a/text/0"\nmsgid "x"\nmsgstr "y"\n\n'

    assert len(read_po(entry * 2)) == 2
    with pytest.raises(TranslationFileError, match="at most 2 texts"):
        read_po(entry * 3)


def test_of_several_translations_of_a_text_the_last_counts() -> None:
    row = rows_of(No="Non")[2]

    changes = compare(FLOW, "fra", [row, row._replace(translation="Nenni")])
    assert [each.row.translation for each in changes] == ["Nenni"]
