"""What refusals say: which rule, which field, and a word for programs. The cases are made from the contract."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from handlers.contract.schemas import pattern_text
from openapi.table import follow
from tests.api import Api
from tests.contract.documents import Operation, document, roots, token_operations

ROOT = Path(__file__).parents[2]
EMPTY = (
    "not well-formed",
    "This value is not allowed",
    "This value has the wrong type",
    "These characters are not allowed",
    "Unknown entries are not allowed",
    "its limit for this kind",
    "This request is not valid",
    "still use this group",
    "NUL characters are not allowed.",
    "phone numbers need a country code.",
    "certificate is not valid for this name",
    "An API token is required",
)
"""Sentences that leave people to guess the rule, the field or the record."""
FOLDERS = ("handlers", "persistence", "worker", "channels", "flows", "openapi", "relayboard")
WRITING = [
    each
    for each in token_operations()
    if each.root == "v2/openapi.yaml" and "application/json" in each.request_schemas()
]
WRONG: tuple[Any, ...] = (None, 7, True, " ", "x" * 20_000, [[[1]]], {"x": {"y": {"z": 1}}}, "half \ud83d", "\x00")


@pytest.mark.parametrize("sentence", EMPTY)
def test_no_sentence_is_empty(sentence: str) -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".yaml")]

    assert [path for path in files if sentence in path.read_text()] == []


def patterns(node: Any) -> Iterator[str]:
    """All patterns of a document, except those below `not`, which handlers check in their own words."""
    if isinstance(node, Mapping):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        for key, inner in node.items():
            if key not in ("not", "example", "examples", "responses"):
                yield from patterns(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from patterns(inner)


ANSWERED = re.compile(r"Z\$\Z|\^\[a-z_\]\{1,40\}\$")
"""Of values that only answers have."""


@pytest.mark.parametrize("root", [root for root in roots() if not root.startswith("relay")])
def test_every_pattern_of_a_request_is_put_into_words(root: str) -> None:
    unexplained = {
        each for each in patterns(document(root)) if pattern_text(each) is None and not ANSWERED.search(each)
    }

    assert unexplained == set()


@pytest.mark.together
@pytest.mark.parametrize("operation", WRITING, ids=str)
def test_every_refusal_of_a_body_names_its_field_and_has_a_word(api: Api, operation: Operation) -> None:
    schema = follow(operation.request_schemas()["application/json"], document(operation.root))
    names = [name for name in schema.get("properties", {}) if not schema.get("x-verbatim")]
    path = f"/api/v2{operation.path}"
    for name in names:
        for value in WRONG:
            body = json.dumps({name: value}).encode()
            headers = {"Authorization": f"Token {api.token}", "Content-Type": "application/json"}
            answer = api.client.request(operation.method.upper(), path, content=body, headers=headers)
            assert answer.status_code < 500, (name, value, answer.text)
            if answer.status_code >= 400:
                check_refusal(answer.status_code, answer.json(), {*names, "non_field_errors"}, (name, value))


def check_refusal(status: int, said: dict[str, Any], names: set[str], sent: object) -> None:
    texts = list(sentences(said))
    assert texts, sent
    assert not [text for text in texts for empty in EMPTY if empty in text], (sent, said)
    if status == 400 and "detail" not in said:
        assert set(said) <= names, (sent, said)


def sentences(said: Any) -> Iterator[str]:
    if isinstance(said, str):
        yield said
    else:
        for each in said.values() if isinstance(said, Mapping) else said:
            yield from sentences(each)


@pytest.mark.together
@pytest.mark.parametrize("text", ["\x00", "half \ud83d"])
def test_a_character_that_cannot_be_stored_is_told_with_its_field(api: Api, text: str) -> None:
    body = {"contact": "x", "text": "Hi", "quick_replies": [{"text": "Yes"}, {"text": text}]}
    headers = {"Authorization": f"Token {api.token}", "Content-Type": "application/json"}

    answer = api.client.post("/api/v2/messages.json", content=json.dumps(body), headers=headers)

    assert list(answer.json()["quick_replies"]["1"]) == ["text"]
    assert answer.extensions["code"] == "wrong_form"


def test_a_problem_deeper_than_errors_go_is_told_at_the_deepest_level(api: Api) -> None:
    body = {"definition": {}, "services": {"classifiers": [{"name": "Requests", "intents": [{"name": "book"}]}]}}

    said = api.post("/api/v2/simulations.json", body).json()

    assert said["services"] == {"classifiers": {"0": {"intents": ["0.confidence: A value is required."]}}}


@pytest.mark.together
@pytest.mark.parametrize(
    ("urn", "words"),
    [
        ("0788123123x", "a scheme, a colon and an address"),
        ("mailto:nobody", "an e-mail address"),
        ("tel:1", "country code"),
        ("telegram:ann", "digits"),
        ("icq:12345", "There is no scheme"),
    ],
)
def test_a_urn_is_refused_by_the_rule_of_its_scheme(api: Api, urn: str, words: str) -> None:
    said = api.post("/api/v2/contacts.json", {"urns": [urn]}).json()

    assert words in said["urns"]["0"][0]


def test_the_wrong_kind_of_authorization_is_told_the_right_one(api: Api) -> None:
    answer = api.client.get("/api/v2/labels.json", headers={"Authorization": f"Bearer {api.token}"})

    assert (answer.status_code, answer.extensions["code"]) == (401, "not_authenticated")
    assert "Authorization: Token ..." in answer.json()["detail"]


def test_a_limit_says_of_what_how_many_and_what_to_do(api: Api) -> None:
    for number in range(260):
        answer = api.post("/api/v2/topics.json", {"name": f"Topic {number}"})
        if answer.status_code != 201:
            break

    assert answer.status_code == 409
    assert re.fullmatch(r"The workspace has reached its limit of \d+ topics: delete .*\.", answer.json()["detail"])


def test_what_uses_a_group_is_named(api: Api) -> None:
    group = api.post("/api/v2/groups.json", {"name": "Mothers"}).json()["uuid"]
    assert api.post("/api/v2/campaigns.json", {"name": "Reminders", "group": group}).status_code == 201

    answer = api.client.delete(f"/api/v2/groups.json?uuid={group}", headers={"Authorization": f"Token {api.token}"})

    assert answer.extensions["code"] == "in_use"
    assert 'the campaign "Reminders"' in answer.json()["detail"]
