"""What POST `/api/v2/broadcasts.json` takes at its limits, and what it refuses, keyed by field."""

from typing import Any

import pycountry
import pytest

from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_named

PATH = "/api/v2/broadcasts.json"
UNKNOWN = "0f9e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f"
LANGUAGES = [language.alpha_3 for language in pycountry.languages][:51]


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"text": None}, "text"),
    ({"text": ""}, "text"),
    ({"text": "  "}, "text"),
    ({"text": 7}, "text"),
    ({"text": {}}, "text"),
    ({"text": "x" * 4097}, "text"),
    ({"text": {"eng": "x" * 4097}}, "text"),
    ({"text": {"eng": ""}}, "text"),
    ({"text": {"english": "Hi"}}, "text"),
    ({"text": {"xxq": "Hi"}}, "text"),
    ({"text": dict.fromkeys(LANGUAGES, "Hi")}, "text"),
    ({"contacts": []}, "non_field_errors"),
    ({"contacts": [UNKNOWN]}, "contacts"),
    ({"contacts": ["nonsense"]}, "contacts"),
    ({"contacts": [""]}, "contacts"),
    ({"contacts": [7]}, "contacts"),
    ({"contacts": "x"}, "contacts"),
    ({"contacts": [UNKNOWN] * 101}, "contacts"),
    ({"groups": [UNKNOWN]}, "groups"),
    ({"groups": ["Nobody"]}, "groups"),
    ({"groups": ["Nobody"] * 101}, "groups"),
    ({"urns": ["tel:x"]}, "urns"),
    ({"urns": ["tel:+250788000111", "nonsense"]}, "urns"),
    ({"urns": [f"tel:+2507880{number:05}" for number in range(101)]}, "urns"),
    ({"attachments": [UNKNOWN]}, "attachments"),
    ({"attachments": [f"image/png:https://example.org/{UNKNOWN}.png"]}, "attachments"),
    ({"attachments": ["image/png:https://example.org/leaf.png"]}, "attachments"),
    ({"attachments": {"eng": [UNKNOWN]}}, "attachments"),
    ({"attachments": {"english": []}}, "attachments"),
    ({"attachments": {"eng": [UNKNOWN] * 11}}, "attachments"),
    ({"quick_replies": ["OK"]}, "quick_replies"),
    ({"quick_replies": [{}]}, "quick_replies"),
    ({"quick_replies": [{"text": ""}]}, "quick_replies"),
    ({"quick_replies": [{"text": "x" * 65}]}, "quick_replies"),
    ({"quick_replies": [{"text": "x", "extra": "x" * 1001}]}, "quick_replies"),
    ({"quick_replies": [{"text": "x"}] * 11}, "quick_replies"),
    ({"quick_replies": {"english": [{"text": "x"}]}}, "quick_replies"),
    ({"base_language": "fra"}, "non_field_errors"),
    ({"base_language": "french"}, "base_language"),
    ({"base_language": "eng", "quick_replies": {"kin": [{"text": "x"}]}}, "non_field_errors"),
    ({"base_language": "eng", "attachments": {"kin": []}}, "non_field_errors"),
]


class TestRefusals:
    @pytest.mark.together
    @pytest.mark.parametrize(("change", "key"), REFUSED, ids=[str(change)[:60] for change, _key in REFUSED])
    def test_input_that_breaks_a_rule_is_refused_by_field(
        self, api: Api, amina: str, change: dict[str, Any], key: str
    ) -> None:
        response = api.post(PATH, {"text": {"eng": "Hi"}, "contacts": [amina]} | change)

        assert (response.status_code, list(response.json())) == (400, [key])
        assert api.results(PATH) == []

    def test_text_is_required(self, api: Api, amina: str) -> None:
        response = api.post(PATH, {"contacts": [amina]})

        assert (response.status_code, list(response.json())) == (400, ["text"])

    def test_problems_are_named_by_their_place(self, api: Api, amina: str) -> None:
        def problems(**change: Any) -> Any:
            return api.post(PATH, {"text": "Hi", "contacts": [amina]} | change).json()

        assert list(problems(urns=["tel:+250788000222", "tel:x"])["urns"]) == ["1"]
        assert list(problems(text={"eng": "Hi", "xxq": "Hi"})["text"]) == ["xxq"]
        assert list(problems(attachments=[UNKNOWN])["attachments"]) == ["0"]
        assert list(problems(attachments={"eng": [UNKNOWN]})["attachments"]["eng"]) == ["0"]


class TestLimits:
    def test_the_longest_text_and_replies_are_taken(self, api: Api, amina: str) -> None:
        replies = {"eng": [{"text": "x" * 64, "extra": "y" * 1000}] * 10}

        response = api.post(PATH, {"text": {"eng": "x" * 4096}, "contacts": [amina], "quick_replies": replies})

        assert response.status_code == 201

    def test_fifty_languages_are_taken(self, api: Api, amina: str) -> None:
        response = api.post(PATH, {"text": dict.fromkeys(LANGUAGES[:50], "Hi"), "contacts": [amina]})

        assert response.status_code == 201

    def test_ten_files_of_a_language_are_taken(self, api: Api, amina: str) -> None:
        file = api.upload("/api/v2/media.json", "leaf.png", b"\x89PNG\r\n\x1a\n", "image/png").json()

        response = api.post(PATH, {"text": "Hi", "contacts": [amina], "attachments": [file["uuid"]] * 10})

        assert response.status_code == 201

    def test_a_hundred_of_each_kind_of_recipient_are_taken(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        groups = make_named(database, workspace, group, [f"Group {number}" for number in range(100)])
        urns = [f"tel:+25078{number:07}" for number in range(100)]

        response = api.post(PATH, {"text": "Hi", "contacts": [amina] * 100, "groups": groups, "urns": urns})

        assert response.status_code == 201
        assert len(response.json()["urns"]) == len(response.json()["groups"]) == 100
