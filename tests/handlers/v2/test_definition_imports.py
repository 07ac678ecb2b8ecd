"""Imports by `/api/v2/definitions.json` over HTTP."""

from typing import Any

import pytest

from tests.api import Api
from tests.definition_files import make_definition, make_file, read_registration, say

PATH = "/api/v2/definitions.json"
LISTS = ("flows", "campaigns", "groups", "fields", "globals", "labels", "resthooks", "topics", "audit_events")
CALL = {"type": "call_webhook", "method": "GET", "url": "http://10.0.0.7/", "headers": {}, "body": ""}


def everything(api: Api) -> dict[str, Any]:
    return {name: api.get(f"/api/v2/{name}.json").text for name in LISTS}


def test_a_file_is_imported_once_and_then_changes_nothing(api: Api) -> None:
    first = api.post(PATH, {"document": read_registration()})
    again = api.post(PATH, {"document": read_registration()})

    assert (first.status_code, again.status_code) == (200, 200), first.text
    done, same = first.json(), again.json()
    assert [(each["name"], each["change"]) for each in done["flows"]] == [
        ("Registration", "created"),
        ("Consent", "created"),
        ("Checkup Reminder", "created"),
    ]
    assert {each["change"] for part in ("flows", "campaigns", "triggers") for each in same[part]} == {"unchanged"}
    assert same["made"] == {name: [] for name in ("fields", "globals", "groups", "labels", "topics")}
    assert [each["name"] for each in api.results("/api/v2/campaigns.json")] == ["Checkups"]
    assert {each["uuid"] for each in done["flows"]} == {each["uuid"] for each in api.results("/api/v2/flows.json")}


def test_a_dry_run_tells_the_same_as_the_import_and_stores_nothing(api: Api) -> None:
    before = everything(api)

    dry = api.post(PATH, {"document": read_registration(), "dry_run": True}).json()
    after = everything(api)
    done = api.post(PATH, {"document": read_registration()}).json()

    assert after == before
    assert dry == {**done, "dry_run": True, "flows": dry["flows"], "campaigns": dry["campaigns"]}
    for part in ("flows", "campaigns"):
        assert [(each["name"], each["change"]) for each in dry[part]] == [
            (each["name"], each["change"]) for each in done[part]
        ]


def test_a_dry_run_names_the_flows_whose_triggers_it_would_archive(api: Api) -> None:
    old, new = make_definition(name="Old"), make_definition(name="New")

    def file(given: dict[str, Any], *keywords: str) -> dict[str, Any]:
        named = {"uuid": given["uuid"], "name": given["name"]}
        return make_file(
            given, triggers=[{"trigger_type": "K", "flow": named, "keywords": list(keywords), "match_type": "F"}]
        )

    api.post(PATH, {"document": file(old, "join", "start")})

    def tried(document: dict[str, Any]) -> list[list[str]]:
        return [each["replaces"] for each in api.post(PATH, {"document": document, "dry_run": True}).json()["triggers"]]

    assert tried(file(new, "JOIN")) == [["Old"]]
    assert tried(file(new, "help")) == [[]]
    assert tried(file(old, "join", "start")) == [[]]
    assert [each["archived"] for each in api.results("/api/v2/triggers.json")] == [False]


def test_a_dry_run_leaves_its_idempotency_key_free(api: Api) -> None:
    document, key = make_file(make_definition(say("Hello"))), {"Idempotency-Key": "import-1"}
    api.post(PATH, {"document": document, "dry_run": True}, headers=key)

    done = api.post(PATH, {"document": document}, headers=key)
    repeated = api.post(PATH, {"document": document}, headers=key)

    assert done.json()["flows"][0]["change"] == "created"
    assert repeated.text == done.text
    assert repeated.headers["Idempotency-Replayed"] == "true"


def test_issues_tell_all_that_is_wrong_with_each_flow(api: Api) -> None:
    given = make_definition(say("Hello @(1 + )"), CALL, name="Broken")
    lost = {**make_definition()["nodes"][0], "actions": []}
    given["nodes"].append(lost)

    found = api.post(PATH, {"document": make_file(given), "dry_run": True}).json()["issues"]

    assert {(each["flow_name"], each["type"], each["fatal"]) for each in found} == {
        ("Broken", "invalid_expression", False),
        ("Broken", "private_address", False),
        ("Broken", "unreachable_node", False),
    }
    assert [each["node_uuid"] for each in found if each["type"] == "unreachable_node"] == [lost["uuid"]]


def test_a_dry_run_of_a_refused_file_tells_every_fault(api: Api) -> None:
    faulty = [make_definition(say("Hello"), name=name) for name in ("One", "Two")]
    for each in faulty:
        each["nodes"][0]["exits"][0]["destination_uuid"] = "9d0b0000-0000-4000-8000-000000000000"

    dry = api.post(PATH, {"document": make_file(*faulty), "dry_run": True})
    refused = api.post(PATH, {"document": make_file(*faulty)})

    assert dry.status_code == 200
    assert dry.json()["refusal"] == refused.json()["document"][0]
    assert [(each["flow_name"], each["type"], each["fatal"]) for each in dry.json()["issues"]] == [
        ("One", "invalid_definition", True),
        ("Two", "invalid_definition", True),
    ]
    assert refused.status_code == 400
    assert "flows[0]" in refused.json()["document"][0]
    assert api.results("/api/v2/flows.json") == []


def test_one_definition_is_imported_as_that_flow_with_its_white_space(api: Api) -> None:
    given = make_definition(say("  Hello  "))

    (made,) = api.post(PATH, {"document": given}).json()["flows"]

    (stored,) = api.get(PATH, flow=made["uuid"]).json()["flows"]
    assert stored["nodes"][0]["actions"][0]["text"] == "  Hello  "


@pytest.mark.together
@pytest.mark.parametrize(
    "document", [{}, {"version": "99", "flows": []}, {"version": "13", "flows": [7]}, {"flows": {"a": 1}}, {"nodes": 3}]
)
def test_what_is_no_file_of_flows_is_refused_with_a_reason(api: Api, document: Any) -> None:
    dry = api.post(PATH, {"document": document, "dry_run": True})
    refused = api.post(PATH, {"document": document})

    assert (dry.status_code, refused.status_code) == (200, 400), dry.text
    assert refused.json()["document"]
    assert dry.json()["refusal"]
    assert dry.json()["issues"][0]["fatal"] is True


def test_files_are_larger_than_other_bodies_and_bounded(api: Api) -> None:
    flows = [make_definition(say("Hello"), name=f"Large {n}", _ui={"note": "x" * 250_000}) for n in range(8)]

    imported = api.post(PATH, {"document": make_file(*flows)})
    assert imported.status_code == 200, imported.text
    assert api.post("/api/v2/labels.json", {"name": "x" * 2_000_000}).status_code == 413
    assert api.post(PATH, {"document": {"version": "13", "flows": ["x" * (8 * 1024**2)]}}).status_code == 413
    many = api.post(PATH, {"document": {"version": "13", "flows": [[]] * 600_000}})
    assert many.status_code == 413
    assert many.json()["detail"] == "The request body has more than 1,000,000 values."


def test_who_may_not_change_all_that_an_import_changes_may_not_import(api: Api) -> None:
    body = {"document": make_file(), "dry_run": True}

    for role, status in (("editor", 200), ("viewer", 403), ("agent", 403), ("surveyor", 403)):
        assert api.as_role(role).post(PATH, body).status_code == status
    assert api.limited_to("flows").post(PATH, body).status_code == 403
    everywhere = ("flows", "campaigns", "contacts", "messages", "tickets")
    assert api.limited_to(*everywhere).post(PATH, body).status_code == 200
