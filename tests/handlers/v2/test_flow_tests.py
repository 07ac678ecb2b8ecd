"""`/api/v2/flow_tests.json` over HTTP: the tests of a flow are played, within bounds."""

from typing import Any

import pytest

from persistence.flows import testing
from persistence.sql.columns import new_uuid
from tests.api import Api
from tests.definition_files import make_definition, make_file, say

PATH = "/api/v2/flow_tests.json"
GREETS = {"name": "It greets", "steps": [{"expect": ["Hello"]}], "then": {"status": "completed"}}
SHOUTS = {"name": "It shouts", "steps": [{"expect": ["HELLO"]}]}


def with_tests(*tests: Any) -> dict[str, Any]:
    return {**make_definition(say("Hello")), "_ui": {"tests": list(tests)}}


def test_the_tests_of_an_unsaved_or_a_saved_flow_are_played(api: Api) -> None:
    given = with_tests(GREETS, SHOUTS)
    unsaved = api.post(PATH, {"definition": given})
    assert api.results("/api/v2/flows.json") == []
    api.post("/api/v2/definitions.json", {"document": make_file(given)})
    saved = api.post(PATH, {"flow": given["uuid"]})

    assert unsaved.status_code == 200, unsaved.text
    found = unsaved.json()
    assert [(each["name"], each["passed"]) for each in found["results"]] == [("It greets", True), ("It shouts", False)]
    assert found["results"][1]["differences"] == ["step 1: text is 'Hello', expected 'HELLO'"]
    assert (found["total"], found["next"]) == (2, None)
    assert saved.json() == found
    assert api.post(PATH, {"flow": given["uuid"], "first": 1}).json()["results"] == found["results"][1:]
    assert [api.as_role(role).post(PATH, {"definition": given}).status_code for role in ("editor", "viewer")] == [
        200,
        403,
    ]


def test_a_test_that_cannot_be_played_has_failed_and_one_that_cannot_be_read_is_refused(api: Api) -> None:
    nobody = {"name": "Who", "contact": {"groups": ["Nobody"]}}

    played = api.post(PATH, {"definition": with_tests(nobody, GREETS)}).json()["results"]

    assert [(each["passed"], each["differences"]) for each in played] == [
        (False, ["contact.groups: there is no group 'Nobody'"]),
        (True, []),
    ]


@pytest.mark.together
@pytest.mark.parametrize(
    "test",
    [
        {"name": "", "steps": []},
        {"name": "a", "contact": {"fields": 7}},
        {"name": "a", "contact": {"groups": 7}},
        {"name": "a", "services": {"webhooks": [{"status": "no"}]}},
        {"name": "a", "services": {"classifiers": [{"intents": [{"name": "a"}]}]}},
        {"name": "a", "services": {"classifiers": [{"intents": 7}]}},
        {"name": "a", "services": {"llm": 7}},
        {"name": "a", "at": "9999-12-31T00:00:00Z"},
        {"name": "a", "steps": [{"pass": 300_000_000}, {"pass": 300_000_000}]},
        {"name": "a", "steps": [{"expect": []}] * 501},
    ],
)
def test_what_strangers_send_as_tests_is_bounded_and_named(api: Api, test: dict[str, Any]) -> None:
    refused = api.post(PATH, {"definition": with_tests(test)})

    assert (refused.status_code, "tests[0]" in refused.json()["definition"][0]) == (400, True), refused.text


def test_an_empty_definition_is_refused(api: Api) -> None:
    refused = api.post(PATH, {"definition": {}})

    assert (refused.status_code, list(refused.json())) == (400, ["definition"])


@pytest.mark.together
@pytest.mark.parametrize("contact", [{"urns": 7}, {"uuid": 7}, {"name": {"a": 1}}])
def test_a_contact_that_cannot_be_is_a_difference(api: Api, contact: dict[str, Any]) -> None:
    played = api.post(PATH, {"definition": with_tests({"name": "a", "contact": contact})})

    assert (played.status_code, played.json()["results"][0]["passed"]) == (200, False), played.text


def test_what_there_is_no_time_for_is_for_the_next_request(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        """Each look at it takes a second."""

        seconds = 0.0

        def monotonic(self) -> float:
            self.seconds += 1
            return self.seconds

    asking = with_tests({"name": "It listens", "steps": [{"say": "Hi"}] * 4}, GREETS)
    (node,) = asking["nodes"]
    node["exits"][0]["destination_uuid"] = node["uuid"]
    category = {"uuid": new_uuid(), "name": "All", "exit_uuid": node["exits"][0]["uuid"]}
    known = {"operand": "@input.text", "wait": {"type": "msg"}, "cases": [], "default_category_uuid": category["uuid"]}
    node["router"] = {"type": "switch", "categories": [category], **known}
    monkeypatch.setattr(testing, "time", Clock())

    first = api.post(PATH, {"definition": with_tests(GREETS, GREETS, GREETS, GREETS)}).json()
    last = api.post(PATH, {"definition": with_tests(GREETS, GREETS, GREETS, GREETS), "first": first["next"]}).json()
    endless = api.post(PATH, {"definition": asking}).json()

    assert (len(first["results"]), first["next"], first["total"]) == (3, 3, 4)
    assert (len(last["results"]), last["next"]) == (1, None)
    assert (endless["results"][0]["passed"], endless["next"]) == (False, 1)
