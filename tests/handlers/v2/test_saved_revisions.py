"""Saving revisions by `/api/v2/flow_revisions.json` over HTTP."""

from typing import Any

import pytest

from tests.api import Api
from tests.definition_files import make_definition, make_file, say

PATH = "/api/v2/flow_revisions.json"
FLOWS = "/api/v2/flows.json"


@pytest.fixture
def flow(api: Api) -> dict[str, Any]:
    """The definition of a flow that was imported once."""
    given = make_definition(say("Good morning"))
    assert api.post("/api/v2/definitions.json", {"document": make_file(given)}).status_code == 200
    return newest(api, given["uuid"])


def newest(api: Api, uuid: str) -> dict[str, Any]:
    revisions = api.get(PATH, uuid=uuid).json()["revisions"]
    return dict(api.get(PATH, uuid=uuid, number=revisions[0]["number"]).json()["definition"])


def saying(definition: dict[str, Any], text: str) -> dict[str, Any]:
    (node,) = definition["nodes"]
    return {**definition, "nodes": [{**node, "actions": [{**node["actions"][0], "text": text}]}]}


def test_a_saved_definition_is_the_newest_revision_and_keeps_what_it_had(api: Api, flow: dict[str, Any]) -> None:
    mine = {**saying(flow, "  Good evening  "), "_ui": {"mine": [1]}, "note": "unknown"}

    saved = api.post(PATH, {"based_on": 1, "definition": mine}, uuid=flow["uuid"])

    assert saved.status_code == 201, saved.text
    record = saved.json()["revision"]
    assert (record["number"], record["is_current"], saved.json()["issues"]) == (2, True, [])
    assert newest(api, flow["uuid"]) == {**mine, "revision": 2}
    (author, _) = api.get(PATH, uuid=flow["uuid"]).json()["revisions"]
    assert author == record
    assert "@" in record["created_by"]["email"]


def test_the_same_definition_is_no_new_revision(api: Api, flow: dict[str, Any]) -> None:
    saved = api.post(PATH, {"based_on": 1, "definition": flow}, uuid=flow["uuid"])

    assert (saved.status_code, saved.json()["revision"]["number"]) == (200, 1)
    assert len(api.get(PATH, uuid=flow["uuid"]).json()["revisions"]) == 1


def test_who_began_with_an_older_revision_is_told_who_saved_when(api: Api, flow: dict[str, Any]) -> None:
    first = api.post(PATH, {"based_on": 1, "definition": saying(flow, "One")}, uuid=flow["uuid"]).json()["revision"]

    late = api.post(PATH, {"based_on": 1, "definition": saying(flow, "Two")}, uuid=flow["uuid"])

    assert late.status_code == 409
    assert first["created_by"]["email"] in late.json()["detail"]
    assert first["created_on"] in late.json()["detail"]
    assert "newest revision of this flow is 2" in late.json()["detail"]
    assert newest(api, flow["uuid"])["nodes"][0]["actions"][0]["text"] == "One"


def test_an_earlier_revision_is_restored_as_a_new_one(api: Api, flow: dict[str, Any]) -> None:
    api.post(PATH, {"based_on": 1, "definition": saying(flow, "One")}, uuid=flow["uuid"])

    restored = api.post(PATH, {"based_on": 2, "restore": 1}, uuid=flow["uuid"])

    assert (restored.status_code, restored.json()["revision"]["number"]) == (201, 3), restored.text
    assert newest(api, flow["uuid"]) == {**flow, "revision": 3}
    unknown = api.post(PATH, {"based_on": 3, "restore": 9}, uuid=flow["uuid"])
    assert (unknown.status_code, unknown.json()["restore"]) == (400, ["There is no revision 9."])


def test_a_flow_keeps_its_name_and_uuid_whatever_the_definition_says(api: Api, flow: dict[str, Any]) -> None:
    other = make_definition(say("Hello"), name="Other")

    saved = api.post(PATH, {"based_on": 1, "definition": other}, uuid=flow["uuid"])

    assert saved.status_code == 201, saved.text
    (record,) = api.results(FLOWS)
    assert (record["uuid"], record["name"]) == (flow["uuid"], flow["name"])


def test_a_new_flow_gets_its_first_nodes(api: Api) -> None:
    uuid = api.post(FLOWS, {"name": "Hello"}).json()["uuid"]
    filled = {**newest(api, uuid), "nodes": make_definition(say("Hello @(1 + )"))["nodes"]}

    saved = api.post(PATH, {"based_on": 1, "definition": filled}, uuid=uuid)

    assert saved.status_code == 201, saved.text
    assert [each["type"] for each in saved.json()["issues"]] == ["invalid_expression"]


def test_what_cannot_be_saved_is_said_and_changes_nothing(api: Api, flow: dict[str, Any]) -> None:
    uuid = flow["uuid"]
    broken = {**flow, "nodes": [{**flow["nodes"][0], "exits": []}]}

    def refused(body: Any) -> dict[str, Any]:
        response = api.post(PATH, body, uuid=uuid)
        assert response.status_code == 400, response.text
        return dict(response.json())

    assert "a node needs at least one exit" in refused({"based_on": 1, "definition": broken})["definition"][0]
    assert "type" in refused({"based_on": 1, "definition": {**flow, "type": "voice"}})["definition"][0]
    assert "definition" in refused({"based_on": 1, "definition": {}})
    assert "based_on" in refused({"definition": flow})
    assert "non_field_errors" in refused({"based_on": 1})
    assert "non_field_errors" in refused({"based_on": 1, "definition": flow, "restore": 1})
    assert len(api.get(PATH, uuid=uuid).json()["revisions"]) == 1
    api.post("/api/v2/flow_actions.json", {"flows": [uuid], "action": "archive"})
    assert "archived" in refused({"based_on": 1, "definition": flow})["detail"]
