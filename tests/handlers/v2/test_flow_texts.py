"""Translations of flows by `/api/v2/flow_texts.json` over HTTP: texts and files out, and back as drafts."""

from base64 import b64decode, b64encode
from typing import Any

import pytest

from flows.translation_files import read_po
from persistence.flows.translation_sheets import FORMATS, read_texts
from testbed.flow_rows import say
from tests.api import Api
from tests.definition_files import make_definition, make_file

PATH, REVISIONS = "/api/v2/flow_texts.json", "/api/v2/flow_revisions.json"


@pytest.fixture
def flow(api: Api) -> dict[str, Any]:
    """The definition of a flow with two texts, of which one is translated, that was imported once."""
    first, second = say("Good morning, @contact.name"), say("=Bye")
    written = {"fra": {second["uuid"]: {"text": ["Adieu"]}}}
    given = {**make_definition(first, second), "localization": written}
    assert api.post("/api/v2/definitions.json", {"document": make_file(given)}).status_code == 200
    return dict(api.get(REVISIONS, uuid=given["uuid"], number=1).json()["definition"])


def texts_of(api: Api, flow: dict[str, Any], **query: Any) -> dict[str, Any]:
    found = api.get(PATH, uuid=flow["uuid"], language="fra", **query)
    assert found.status_code == 200, found.text
    return dict(found.json())


def translate(api: Api, flow: dict[str, Any], *texts: tuple[str, str, str], **more: Any) -> Any:
    given = [{"key": key, "text": text, "translation": said} for key, text, said in texts]
    body = {"language": "fra", "based_on": 1, **({} if "file" in more else {"texts": given}), **more}
    return api.post(PATH, body, uuid=flow["uuid"])


def keys(api: Api, flow: dict[str, Any]) -> list[str]:
    return [each["key"] for each in texts_of(api, flow)["texts"]]


def test_translations_become_a_draft_which_is_told_from_then_on(api: Api, flow: dict[str, Any]) -> None:
    before = texts_of(api, flow)
    hello, bye = (each["key"] for each in before["texts"])
    assert [(each["text"], each["translation"]) for each in before["texts"]] == [
        ("Good morning, @contact.name", ""),
        ("=Bye", "Adieu"),
    ]
    assert (before["base_language"], before["based_on"], before["based_on_draft"]) == ("eng", 1, None)
    given = ((hello, "Good morning, @contact.name", "Bonjour, @contact.name"), (bye, "=Bye", "Au revoir"))

    tried = translate(api, flow, *given, dry_run=True).json()
    assert texts_of(api, flow) == before
    saved = translate(api, flow, *given)

    assert saved.status_code == 200, saved.text
    answer = saved.json()
    assert [(each["key"], each["before"], each["result"]) for each in answer["changes"]] == [
        (hello, "", "new"),
        (bye, "Adieu", "changed"),
    ]
    assert tried == {**answer, "dry_run": True, "draft": None}
    assert answer["untranslated"] == 0
    after = texts_of(api, flow)
    assert (after["based_on"], after["based_on_draft"]) == (1, answer["draft"]["uuid"])
    assert [each["translation"] for each in after["texts"]] == ["Bonjour, @contact.name", "Au revoir"]
    (revision,) = api.get(REVISIONS, uuid=flow["uuid"]).json()["revisions"]
    assert revision["number"] == 1, "nothing is live"


@pytest.mark.together
@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_goes_out_and_comes_back(api: Api, flow: dict[str, Any], kind: str) -> None:
    file = texts_of(api, flow, format=kind)["file"]
    rows = read_texts(b64decode(file), kind)
    assert [(row.text, row.translation) for row in rows] == [("Good morning, @contact.name", ""), ("=Bye", "Adieu")]

    same = translate(api, flow, file=file, format=kind)

    assert (same.status_code, same.json()["changes"], same.json()["draft"]) == (200, [], None)
    assert same.json()["untranslated"] == 1


def test_what_does_not_fit_is_left_out_and_told(api: Api, flow: dict[str, Any]) -> None:
    hello, bye = keys(api, flow)
    unsure = f'#, fuzzy\nmsgctxt "{bye}"\nmsgid "=Bye"\nmsgstr "Salut"\n'

    told = translate(
        api,
        flow,
        (hello, "Good morning, @contact.name", "Bonjour, @contact.nmae"),
        (bye, "Good bye", "Au revoir"),
        ("nothing/text/0", "Who?", "Qui ?"),
    ).json()
    fuzzy = translate(api, flow, file=b64encode(unsure.encode()).decode(), format="po").json()

    assert [each["result"] for each in told["changes"]] == ["expressions", "outdated", "unknown"]
    assert [each["result"] for each in fuzzy["changes"]] == ["fuzzy"]
    assert (told["draft"], fuzzy["draft"], texts_of(api, flow)["based_on_draft"]) == (None, None, None)


def test_texts_that_changed_since_a_revision_are_told_with_what_they_were(api: Api, flow: dict[str, Any]) -> None:
    (node,) = flow["nodes"]
    hello, bye = node["actions"]
    changed = {**flow, "nodes": [{**node, "actions": [{**hello, "text": "Good evening"}, bye, say("Well")]}]}
    assert api.post(REVISIONS, {"based_on": 1, "definition": changed}, uuid=flow["uuid"]).status_code == 201

    told = texts_of(api, flow, since=1, format="po")

    assert [(each["text"], each["before"]) for each in told["texts"]] == [
        ("Good evening", "Good morning, @contact.name"),
        ("Well", None),
    ]
    assert [row.text for row in read_po(b64decode(told["file"]).decode())] == ["Good evening", "Well"]
    assert texts_of(api, flow, since=2)["texts"] == []
    assert api.get(PATH, uuid=flow["uuid"], language="fra", since=3).status_code == 404


def test_who_began_with_another_revision_or_draft_is_told_who_saved(api: Api, flow: dict[str, Any]) -> None:
    hello, _ = keys(api, flow)
    text = (hello, "Good morning, @contact.name", "Bonjour, @contact.name")

    early = translate(api, flow, text, based_on=2, dry_run=True)
    first = translate(api, flow, text).json()["draft"]["uuid"]
    late = translate(api, flow, (hello, text[1], "Salut, @contact.name"))
    next_one = translate(api, flow, (hello, text[1], "Salut, @contact.name"), based_on_draft=first)

    assert early.status_code == 409
    assert "The newest revision of this flow is 1, saved on" in early.json()["detail"]
    assert late.status_code == 409
    assert "The newest draft of this flow was saved on" in late.json()["detail"]
    assert next_one.json()["draft"]["uuid"] not in (None, first)


@pytest.mark.together
@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"file": "AAA", "format": "po"}, "file"),
        ({"file": b64encode(b"nonsense").decode(), "format": "po"}, "file"),
        ({"file": b64encode(b"PK\x03\x04 nonsense").decode(), "format": "xlsx"}, "file"),
        ({"file": b64encode(b"a,b\n1,2\n").decode(), "format": "csv"}, "file"),
        ({"language": "eng"}, "language"),
        ({"language": "xxx"}, "language"),
    ],
)
def test_what_cannot_be_read_changes_nothing(api: Api, flow: dict[str, Any], more: dict[str, Any], field: str) -> None:
    refused = translate(api, flow, **more)

    assert (refused.status_code, list(refused.json())[:1]) == (400, [field]), refused.text
    assert texts_of(api, flow)["based_on_draft"] is None


def test_too_long_a_translation_is_refused(api: Api, flow: dict[str, Any]) -> None:
    long = f'msgctxt "{keys(api, flow)[1]}"\nmsgid "=Bye"\nmsgstr "{"a" * 10_001}"\n'

    refused = translate(api, flow, file=b64encode(long.encode()).decode(), format="po")

    assert refused.status_code == 400
    assert "10000" in refused.text


def test_an_archived_flow_is_not_translated_and_an_unknown_one_not_found(api: Api, flow: dict[str, Any]) -> None:
    assert api.post("/api/v2/flow_actions.json", {"flows": [flow["uuid"]], "action": "archive"}).status_code == 204

    assert translate(api, flow).status_code == 400
    assert api.get(PATH, uuid=flow["uuid"]).status_code == 400, "a language is needed"
    assert translate(api, {"uuid": "00000000-0000-4000-8000-000000000000"}).status_code == 404
