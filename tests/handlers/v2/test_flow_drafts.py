"""Drafts of flows by `/api/v2/flow_revisions.json` over HTTP: saved, read, published, and never what contacts get."""

from typing import Any

import pytest

from persistence.definitions.drafts import KEPT, SAME_DRAFT
from tests.api import Api
from tests.conftest import Clock
from tests.definition_files import make_definition, make_file, say

PATH = "/api/v2/flow_revisions.json"


@pytest.fixture
def flow(api: Api) -> dict[str, Any]:
    """The definition of a flow that was imported once."""
    given = make_definition(say("Good morning"))
    assert api.post("/api/v2/definitions.json", {"document": make_file(given)}).status_code == 200
    return dict(api.get(PATH, uuid=given["uuid"], number=1).json()["definition"])


def saying(definition: dict[str, Any], text: str) -> dict[str, Any]:
    (node,) = definition["nodes"]
    return {**definition, "nodes": [{**node, "actions": [{**node["actions"][0], "text": text}]}]}


def save(api: Api, flow: dict[str, Any], text: str, seen: str | None = None, based_on: int = 1) -> Any:
    body = {"based_on": based_on, "draft": True, "based_on_draft": seen, "definition": saying(flow, text)}
    return api.post(PATH, body, uuid=flow["uuid"])


def publish(api: Api, flow: dict[str, Any], draft: str, based_on: int = 1, **more: Any) -> Any:
    return api.post(PATH, {"based_on": based_on, "publish": draft, **more}, uuid=flow["uuid"])


def live_text(api: Api, flow: dict[str, Any]) -> str:
    (exported,) = api.get("/api/v2/definitions.json", flow=flow["uuid"], dependencies="none").json()["flows"]
    return str(exported["nodes"][0]["actions"][0]["text"])


def drafts(api: Api, flow: dict[str, Any]) -> list[dict[str, Any]]:
    return list(api.get(PATH, uuid=flow["uuid"]).json()["drafts"])


def test_a_draft_is_kept_and_nobody_gets_it_until_it_is_published(api: Api, flow: dict[str, Any]) -> None:
    saved = save(api, flow, "Good evening")

    assert saved.status_code == 201, saved.text
    draft = saved.json()["draft"]
    assert (saved.json()["revision"]["number"], saved.json()["tests"], draft["based_on"]) == (1, None, 1)
    assert "@" in draft["created_by"]["email"]
    assert drafts(api, flow) == [draft]
    assert api.get(PATH, uuid=flow["uuid"], draft=draft["uuid"]).json()["definition"] == saying(flow, "Good evening")
    assert live_text(api, flow) == "Good morning"
    assert [each["number"] for each in api.get(PATH, uuid=flow["uuid"]).json()["revisions"]] == [1]

    published = publish(api, flow, draft["uuid"])

    assert published.status_code == 201, published.text
    assert (published.json()["revision"]["number"], published.json()["draft"]) == (2, None)
    assert published.json()["tests"] == {"results": [], "total": 0, "next": None}
    assert (live_text(api, flow), drafts(api, flow)) == ("Good evening", [])


def test_who_has_not_seen_the_newest_draft_is_told_who_saved_it_when(api: Api, flow: dict[str, Any]) -> None:
    first = save(api, flow, "One").json()["draft"]
    second = save(api, flow, "Two", first["uuid"]).json()["draft"]

    for late in (save(api, flow, "Three"), save(api, flow, "Three", first["uuid"]), publish(api, flow, first["uuid"])):
        assert late.status_code == 409
        assert second["created_by"]["email"] in late.json()["detail"]
        assert second["saved_on"] in late.json()["detail"]
    assert api.get(PATH, uuid=flow["uuid"], draft=first["uuid"]).status_code == 404
    assert publish(api, flow, second["uuid"]).status_code == 201
    after = save(api, flow, "Four", second["uuid"])
    assert after.status_code == 409
    assert "published or discarded. The newest revision of this flow is 2" in after.json()["detail"]


def test_a_draft_is_not_published_over_a_revision_that_its_author_has_not_seen(api: Api, flow: dict[str, Any]) -> None:
    draft = save(api, flow, "Drawn").json()["draft"]["uuid"]
    assert api.post(PATH, {"based_on": 1, "definition": saying(flow, "Live")}, uuid=flow["uuid"]).status_code == 201

    refused = publish(api, flow, draft)
    seen = save(api, flow, "Drawn", draft, based_on=2)
    published = publish(api, flow, seen.json()["draft"]["uuid"], based_on=2)

    assert (refused.status_code, seen.status_code, published.status_code) == (409, 201, 201)
    assert "newest revision of this flow is 2" in refused.json()["detail"]
    assert live_text(api, flow) == "Drawn"


def test_a_draft_may_be_unfinished_and_is_published_only_when_it_can_be_read(api: Api, flow: dict[str, Any]) -> None:
    unfinished = {**flow, "nodes": [{**flow["nodes"][0], "exits": []}]}
    body = {"based_on": 1, "draft": True, "definition": unfinished}

    saved = api.post(PATH, body, uuid=flow["uuid"])
    refused = publish(api, flow, saved.json()["draft"]["uuid"])

    assert saved.status_code == 201, saved.text
    assert [each["fatal"] for each in saved.json()["issues"]] == [True]
    assert "a node needs at least one exit" in refused.json()["publish"][0]
    assert live_text(api, flow) == "Good morning"


def test_a_draft_like_the_newest_revision_ends_the_drafts(api: Api, flow: dict[str, Any]) -> None:
    draft = save(api, flow, "Two").json()["draft"]["uuid"]
    assert save(api, flow, "Two", draft).status_code == 200

    back = save(api, flow, "Good morning", draft)

    assert (back.status_code, back.json()["draft"], drafts(api, flow)) == (200, None, [])


def test_what_a_person_saves_soon_replaces_their_own_draft_and_old_ones_go(
    api: Api, flow: dict[str, Any], clock: Clock
) -> None:
    seen = None
    for number in range(KEPT + 1):
        seen = save(api, flow, f"{number}", seen).json()["draft"]["uuid"]
        clock.advance(seconds=SAME_DRAFT.total_seconds())
    for text in ("first", "second"):
        seen = save(api, flow, text, seen).json()["draft"]["uuid"]

    found = drafts(api, flow)

    assert len(found) == KEPT
    definitions = [api.get(PATH, uuid=flow["uuid"], draft=each["uuid"]).json()["definition"] for each in found[:2]]
    texts = [each["nodes"][0]["actions"][0]["text"] for each in definitions]
    assert texts == ["second", f"{KEPT}"]


def test_a_field_that_only_the_newest_draft_names_is_used(api: Api, flow: dict[str, Any]) -> None:
    assert api.post("/api/v2/fields.json", {"name": "Due", "type": "text"}).status_code == 201
    draft = save(api, flow, "Until @fields.due").json()["draft"]["uuid"]

    (usage,) = api.get("/api/v2/usages.json", record="fields.due").json()["results"]
    refused = api.delete("/api/v2/fields.json", key="due")
    save(api, flow, "Until then", draft)

    assert (usage["type"], usage["uuid"], usage["how"]) == ("flow", flow["uuid"], "draft")
    assert (refused.status_code, "the draft of the flow" in refused.text) == (400, True), refused.text
    assert api.delete("/api/v2/fields.json", key="due").status_code == 204


def test_what_cannot_be_a_draft_is_said(api: Api, flow: dict[str, Any]) -> None:
    def refused(definition: Any, **more: Any) -> dict[str, Any]:
        body = {"based_on": 1, "draft": True, "definition": definition, **more}
        response = api.post(PATH, body, uuid=flow["uuid"])
        assert response.status_code == 400, response.text
        return dict(response.json())

    assert "type" in refused({**flow, "type": "voice"})["definition"][0]
    assert "NUL" in str(refused({**flow, "note": "a\x00b"})["definition"])
    assert "no revision 2" in refused(flow, based_on=2)["based_on"][0]
    assert "non_field_errors" in refused(flow, restore=1)
    assert (
        api.as_role("viewer")
        .post(PATH, {"based_on": 1, "draft": True, "definition": flow}, uuid=flow["uuid"])
        .status_code
        == 403
    )
    assert drafts(api, flow) == []


def test_a_failing_test_is_told_or_keeps_the_draft_from_being_published(api: Api, flow: dict[str, Any]) -> None:
    tests = [
        {"name": "It greets", "steps": [{"expect": ["Good evening"]}]},
        {"name": "It shouts", "steps": [{"expect": ["GOOD EVENING"]}]},
    ]
    given = {**saying(flow, "Good evening"), "_ui": {"tests": tests}}
    body = {"based_on": 1, "draft": True, "definition": given}
    draft = api.post(PATH, body, uuid=flow["uuid"]).json()["draft"]["uuid"]

    refused = publish(api, flow, draft, tests="required")
    assert live_text(api, flow) == "Good morning"
    published = publish(api, flow, draft)

    assert (refused.status_code, published.status_code) == (400, 201)
    assert '"It shouts"' in refused.json()["tests"][0]
    played = published.json()["tests"]
    assert [each["passed"] for each in played["results"]] == [True, False]
    assert "GOOD EVENING" in played["results"][1]["differences"][0]
