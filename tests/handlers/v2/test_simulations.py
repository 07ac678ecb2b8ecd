"""`/api/v2/simulations.json` and `flow_issues.json` over HTTP: flows that nobody has saved are checked and played."""

import copy
from typing import Any

import pytest

from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.definition_files import bring_in, make_definition, make_file, say
from tests.factories import make_contact

PATH, ISSUES = "/api/v2/simulations.json", "/api/v2/flow_issues.json"
NOTHING_CHANGES = ("contacts", "flows", "groups", "messages", "runs", "fields", "channel_events")


def ask(question: str, *after: dict[str, Any]) -> dict[str, Any]:
    """A flow that asks, waits for any answer, saves it as the result Answer, and does something more."""
    first, second = make_definition(say(question)), make_definition(say("Thanks, @results.answer"), *after)
    (wait,), (thanks,) = first["nodes"], second["nodes"]
    wait["exits"][0]["destination_uuid"] = thanks["uuid"]
    category = {"uuid": new_uuid(), "name": "All", "exit_uuid": wait["exits"][0]["uuid"]}
    wait["router"] = {
        "type": "switch",
        "operand": "@input.text",
        "wait": {"type": "msg"},
        "result_name": "Answer",
        "categories": [category],
        "cases": [],
        "default_category_uuid": category["uuid"],
    }
    return {**first, "nodes": [wait, thanks]}


def texts(answer: dict[str, Any]) -> list[str]:
    return [event["msg"]["text"] for event in answer["events"] if event["type"] == "msg_created"]


def played(api: Api, body: dict[str, Any]) -> dict[str, Any]:
    response = api.post(PATH, body)
    assert response.status_code == 200, response.text
    return dict(response.json())


def everything(api: Api) -> dict[str, str]:
    return {name: api.get(f"/api/v2/{name}.json").text for name in NOTHING_CHANGES}


class TestSimulations:
    def test_an_unsaved_flow_is_played_to_its_end_and_leaves_nothing(self, api: Api) -> None:
        definition, before = ask("Hi @contact.first_name, how old are you?"), everything(api)

        first = played(api, {"definition": definition, "person": {"name": "Amina Wanjiru"}})
        said = {"type": "msg", "text": " 34 "}
        last = played(api, {"definition": definition, "session": first["session"], "resume": said})

        assert (texts(first), first["status"]) == (["Hi Amina, how old are you?"], "waiting")
        assert (texts(last), last["status"]) == (["Thanks, 34"], "completed")
        assert last["results"]["answer"]["value"] == "34"
        assert [step["node_uuid"] for step in last["path"]] == [node["uuid"] for node in definition["nodes"]]
        assert everything(api) == before

    def test_a_saved_flow_talks_with_a_copy_of_a_contact(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        naming = {"type": "set_contact_name", "name": "Somebody"}
        definition = make_definition(say("Hi @contact, @urns.tel"), naming)
        bring_in(database, workspace, make_file(definition))
        uuid = make_contact(database, workspace, "+250788000111", name="Grace")

        answer = played(api, {"flow": definition["uuid"], "contact": uuid})

        assert texts(answer) == ["Hi Grace, tel:+250788000111"]
        assert answer["contact"]["name"] == "Somebody"
        assert [each["name"] for each in api.results("/api/v2/contacts.json", uuid=uuid)] == ["Grace"]

    def test_services_answer_what_the_caller_says_and_nobody_is_called(self, api: Api) -> None:
        call = {"type": "call_webhook", "method": "GET", "url": "http://10.0.0.7/known", "headers": {}, "body": ""}
        definition = make_definition(call, say("@webhook.json.is_known @webhook.status"))
        said = [
            {"url": "http://10.0.0.8/", "body": "[]"},
            {"url": "http://10.0.0.7/", "status": 418, "body": '{"is_known": "yes"}'},
        ]

        answer = played(api, {"definition": definition, "services": {"webhooks": said}})
        silent = played(api, {"definition": definition, "services": {"webhooks": [{"status": 0}]}})
        unsaid = played(api, {"definition": definition})

        assert texts(answer) == ["yes 418"]
        assert [each["status"] for each in silent["events"] if each["type"] == "webhook_called"] == ["connection_error"]
        assert [each["status"] for each in unsaid["events"] if each["type"] == "webhook_called"] == ["success"]

    def test_time_passes_and_other_systems_call_when_it_is_told_to(self, api: Api) -> None:
        definition = ask("Are you there?")
        session = played(api, {"definition": definition})["session"]

        over = played(api, {"definition": definition, "session": session, "resume": {"type": "wait_expiration"}})
        wrong = api.post(PATH, {"definition": definition, "session": session, "resume": {"type": "wait_timeout"}})

        assert over["status"] in ("expired", "completed")
        assert texts(over) == []
        assert (wrong.status_code, list(wrong.json())[:1]) == (400, ["resume"])
        router = definition["nodes"][0]["router"]
        router.update(operand="@resume.body", wait={"type": "msg", "pause": {"ends_by": "callback"}})
        paused = played(api, {"definition": definition})["session"]
        said = api.post(PATH, {"definition": definition, "session": paused, "resume": {"type": "msg", "text": "Hi"}})
        called = {"definition": definition, "session": paused, "resume": {"type": "callback", "text": "paid"}}
        assert (said.status_code, list(said.json())[:1]) == (400, ["resume"])
        assert texts(played(api, called)) == ["Thanks, paid"]

    @pytest.mark.together
    @pytest.mark.parametrize(
        "change",
        [
            lambda session: session.clear(),
            lambda session: session.update(status="completed"),
            lambda session: session.update(sprints=10**6),
            lambda session: session.update(runs=[]),
            lambda session: session.update(runs=[7]),
            lambda session: session.update(contact={}),
            lambda session: session.update(generation=99),
            lambda session: session["runs"][0].update(path=[]),
            lambda session: session["runs"][0].update(status="lost"),
            lambda session: session["runs"][0]["flow"].update(uuid="no flow"),
            lambda session: session["contact"].update(timezone="Nowhere/At all"),
            lambda session: session.update(trigger={}),
            lambda session: session.update(environment={"timezone": "Nowhere"}),
            lambda session: session.update(created_on="yesterday"),
        ],
    )
    def test_a_session_that_somebody_changed_harms_nobody(self, api: Api, change: Any) -> None:
        definition = ask("How old are you?")
        session = copy.deepcopy(played(api, {"definition": definition})["session"])
        change(session)

        answer = api.post(PATH, {"definition": definition, "session": session, "resume": {"type": "msg", "text": "7"}})

        assert answer.status_code in (200, 400), answer.text
        if answer.status_code == 400:
            assert set(answer.json()) & {"session", "resume"}

    def test_a_flow_that_goes_in_a_circle_ends_as_it_would_for_contacts(self, api: Api) -> None:
        definition = make_definition(say("Again"))
        (node,) = definition["nodes"]
        node["exits"][0]["destination_uuid"] = node["uuid"]

        answer = played(api, {"definition": definition})

        assert answer["status"] == "failed"
        assert len(texts(answer)) <= 100

    def test_what_cannot_be_played_is_named(self, api: Api) -> None:
        definition = make_definition(say("Hello"))

        def refused(body: dict[str, Any]) -> set[str]:
            response = api.post(PATH, body)
            assert response.status_code == 400, response.text
            return set(response.json())

        assert "definition" in refused({"definition": {"nodes": 7}})
        assert "flow" in refused({"flow": new_uuid()})
        assert "contact" in refused({"definition": definition, "contact": new_uuid()})
        assert "person" in refused({"definition": definition, "person": {"urns": 7}})
        assert "person" in refused({"definition": definition, "person": {"fields": True}})
        assert "services" in refused({"definition": definition, "services": {"webhooks": [{"status": 1000}]}})
        assert api.as_role("viewer").post(PATH, {"definition": definition}).status_code == 403


class TestFlowIssues:
    def test_they_are_those_of_an_import(self, api: Api) -> None:
        group = {"type": "add_contact_groups", "groups": [{"uuid": new_uuid(), "name": "Mothers"}]}
        call = {"type": "call_webhook", "method": "GET", "url": "http://10.0.0.7/", "headers": {}, "body": ""}
        channel = {"type": "set_contact_channel", "channel": {"uuid": new_uuid(), "name": "Gateway"}}
        given = make_definition(say("Hi @fields.age @globals.clinic @(1 + )"), group, call, channel)
        before = everything(api)

        found = api.post(ISSUES, {"definition": given}).json()["issues"]
        after = everything(api)
        imported = api.post("/api/v2/definitions.json", {"document": make_file(given), "dry_run": True}).json()

        assert {each["type"] for each in found} == {"invalid_expression", "private_address", "missing_dependency"}
        assert found == imported["issues"]
        assert after == before

    def test_a_definition_that_cannot_be_read_has_one_fatal_issue(self, api: Api) -> None:
        (fault,) = api.post(ISSUES, {"definition": {**make_definition(), "type": "dance"}}).json()["issues"]

        assert (fault["type"], fault["fatal"], fault["field"]) == ("invalid_definition", True, "type")
