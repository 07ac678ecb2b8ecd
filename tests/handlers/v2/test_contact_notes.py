"""`/api/v2/contact_notes.json` over HTTP."""

import pytest

from persistence.database import Database
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact

PATH = "/api/v2/contact_notes.json"


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


def test_a_note_says_who_wrote_it_about_whom(api: Api, amina: str, database: Database, workspace: Workspace) -> None:
    made = api.post(PATH, {"contact": "tel:+250788000111", "text": " Call in the evening. "})

    assert made.status_code == 201
    assert (made.json()["text"], made.json()["contact"]["uuid"]) == ("Call in the evening.", amina)
    assert made.json()["user"]["email"].startswith("administrator")
    other = make_contact(database, workspace, "+250788000222")
    assert api.results(PATH, contact=amina) == [made.json()]
    assert api.results(PATH, contact=other) == []


def test_agents_delete_only_their_own_notes(api: Api, amina: str) -> None:
    agent = api.as_role("agent")
    theirs = api.post(PATH, {"contact": amina, "text": "One"}).json()["uuid"]
    own = agent.post(PATH, {"contact": amina, "text": "Two"}).json()["uuid"]

    assert [agent.delete(PATH, uuid=uuid).status_code for uuid in (theirs, own, own)] == [403, 204, 404]
    assert [note["uuid"] for note in api.results(PATH)] == [theirs]


def test_notes_go_with_their_contact(api: Api, amina: str) -> None:
    api.post(PATH, {"contact": amina, "text": "One"})

    assert api.delete("/api/v2/contacts.json", uuid=amina).status_code == 204

    assert api.results(PATH) == []


@pytest.mark.together
@pytest.mark.parametrize("text", ["", "   ", None, "x" * 10_001])
def test_a_note_has_a_text_of_some_length(api: Api, amina: str, text: str | None) -> None:
    assert api.post(PATH, {"contact": amina, "text": text}).status_code == 400
