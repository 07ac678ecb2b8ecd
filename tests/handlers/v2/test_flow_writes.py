"""Flows made and changed by `/api/v2/flows.json` and `flow_actions.json` over HTTP."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.flows.records import interrupt_archived, show_counts
from persistence.sql.columns import new_uuid
from persistence.tables.flows import flow, flow_run, flow_session
from persistence.workspaces.records import Workspace
from testbed.patience import PATIENCE_SECONDS
from testbed.running import forked_service
from tests.api import Api
from tests.definition_files import bring_in, make_definition, make_file, read_registration, say
from tests.documentation import ROOT, read_blocks
from tests.run_rows import add_people, add_waiting

PATH, ACTIONS, REVISIONS = "/api/v2/flows.json", "/api/v2/flow_actions.json", "/api/v2/flow_revisions.json"


def definition_of(api: Api, uuid: str) -> dict[str, Any]:
    (found,) = api.get("/api/v2/definitions.json", flow=uuid, dependencies="none").json()["flows"]
    return dict(found)


def uuids_in(definition: dict[str, Any]) -> set[str]:
    parts = [
        each
        for node in definition["nodes"]
        for each in (node, *node.get("actions", ()), *node["exits"], *node.get("router", {}).get("categories", ()))
    ]
    return {definition["uuid"], *(each["uuid"] for each in parts)}


@pytest.fixture
def registration(api: Api, database: Database, workspace: Workspace) -> dict[str, Any]:
    """The first flow of the file of registrations, which is imported."""
    document = read_registration()
    bring_in(database, workspace, document)
    return definition_of(api, document["flows"][0]["uuid"])


class TestWriteFlow:
    def test_a_new_flow_is_empty_and_has_what_was_given(self, api: Api) -> None:
        made = api.post(PATH, {"name": "Survey", "type": "survey", "base_language": "FRA"})

        assert made.status_code == 201, made.text
        record = made.json()
        assert (record["name"], record["type"], record["archived"]) == ("Survey", "survey", False)
        definition = definition_of(api, record["uuid"])
        assert (definition["language"], definition["nodes"], definition["type"]) == ("fra", [], "messaging_offline")

    def test_a_name_is_all_that_a_flow_needs(self, api: Api) -> None:
        record = api.post(PATH, {"name": "Hello"}).json()

        assert (record["type"], record["expires"]) == ("message", 3 * 24 * 60)
        assert definition_of(api, record["uuid"])["language"] == api.workspace.default_language

    def test_a_change_is_a_new_revision_that_keeps_the_rest(self, api: Api, registration: dict[str, Any]) -> None:
        uuid = registration["uuid"]

        changed = api.post(PATH, {"name": "Enrolment", "expires": 60}, uuid=uuid)

        assert changed.status_code == 200, changed.text
        assert (changed.json()["name"], changed.json()["expires"]) == ("Enrolment", 60)
        now = definition_of(api, uuid)
        expected = {"name": "Enrolment", "expire_after_minutes": 60, "revision": registration["revision"] + 1}
        assert now == {**registration, **expected}

    def test_another_base_language_takes_the_texts_of_its_translation(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        given = make_definition(say("Hello"))
        action = given["nodes"][0]["actions"][0]["uuid"]
        given["localization"] = {"fra": {action: {"text": ["Bonjour"]}}}
        bring_in(database, workspace, make_file(given))

        api.post(PATH, {"base_language": "fra"}, uuid=given["uuid"])

        now = definition_of(api, given["uuid"])
        assert now["nodes"][0]["actions"][0]["text"] == "Bonjour"
        assert now["localization"] == {"eng": {action: {"text": ["Hello"]}}}

    def test_a_copy_does_the_same_and_shares_no_uuid(self, api: Api, registration: dict[str, Any]) -> None:
        made = api.post(PATH, {"name": "Registration of men", "copy_of": registration["uuid"]})

        assert made.status_code == 201, made.text
        copied = definition_of(api, made.json()["uuid"])
        assert not uuids_in(copied) & uuids_in(registration)
        assert len(uuids_in(copied)) == len(uuids_in(registration))
        assert [len(node["actions"]) for node in copied["nodes"]] == [
            len(node["actions"]) for node in registration["nodes"]
        ]
        (record,) = api.results(PATH, uuid=registration["uuid"])
        assert [each["key"] for each in made.json()["results"]] == [each["key"] for each in record["results"]]
        assert set(copied["localization"].get("spa", {})) <= uuids_in(copied)

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "name"),
            ({"name": "registration"}, "name"),
            ({"name": "A", "expires": 20161}, "expires"),
            ({"name": "A", "type": "voice", "expires": 16}, "expires"),
            ({"name": "A", "base_language": "english"}, "base_language"),
            ({"name": "A", "copy_of": "00000000-0000-4000-8000-000000000000"}, "copy_of"),
            ({"name": "A", "type": "background"}, "type"),
        ],
    )
    def test_a_wrong_value_is_named_and_makes_nothing(
        self, api: Api, registration: dict[str, Any], body: Any, field: str
    ) -> None:
        before = api.get(PATH).text

        refused = api.post(PATH, body)

        assert refused.status_code == 400
        assert field in refused.json(), refused.text
        assert api.get(PATH).text == before

    def test_what_only_a_new_flow_has_is_refused_of_another(self, api: Api, registration: dict[str, Any]) -> None:
        uuid = registration["uuid"]

        assert "type" in api.post(PATH, {"type": "voice"}, uuid=uuid).json()
        assert "copy_of" in api.post(PATH, {"copy_of": uuid}, uuid=uuid).json()
        assert "type" in api.post(PATH, {"name": "B", "type": "voice", "copy_of": uuid}).json()
        assert api.post(PATH, {"name": "C"}, uuid=new_uuid()).status_code == 404

    def test_an_archived_flow_is_not_changed(self, api: Api) -> None:
        uuid = api.post(PATH, {"name": "Hello"}).json()["uuid"]
        api.post(ACTIONS, {"flows": [uuid], "action": "archive"})

        refused = api.post(PATH, {"name": "Bye"}, uuid=uuid)

        assert (refused.status_code, refused.json()["detail"]) == (400, "This flow is archived: restore it first.")
        (record,) = api.results(PATH)
        assert (record["name"], record["archived"]) == ("Hello", True)


class TestActOnFlows:
    def test_an_archived_flow_is_left_by_its_contacts_and_can_be_restored(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        leaving, staying = (api.post(PATH, {"name": name}).json()["uuid"] for name in ("Leaving", "Staying"))
        people = add_people(database, workspace, 2)
        with database.reading() as tx:
            ids = [tx.execute(select(flow.c.id).where(flow.c.uuid == each)).scalar_one() for each in (leaving, staying)]
        for flow_id, person in zip(ids, people, strict=True):
            add_waiting(database, workspace, flow_id, person)

        assert api.post(ACTIONS, {"flows": [leaving], "action": "archive"}).status_code == 204
        for work in (interrupt_archived, show_counts):
            with database.writing() as tx:
                work(tx, workspace.id)

        with database.reading() as tx:
            sessions = tx.execute(select(flow_session.c.status).order_by(flow_session.c.id)).scalars().all()
            runs = tx.execute(select(flow_run.c.status).order_by(flow_run.c.id)).scalars().all()
            due = tx.execute(select(flow.c.id).where(flow.c.counted_on.is_not(None), flow.c.is_archived)).all()
        assert (sessions, runs) == (["interrupted", "waiting"], ["interrupted", "waiting"])
        assert due == []
        assert api.results(PATH, archived="true")[0]["uuid"] == leaving
        assert api.post(ACTIONS, {"flows": [leaving, staying], "action": "restore"}).status_code == 204
        assert api.results(PATH, archived="true") == []

    def test_counts_do_not_hide_an_archived_flow_from_the_job(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        uuid = api.post(PATH, {"name": "Leaving"}).json()["uuid"]
        with database.reading() as tx:
            flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == uuid)).scalar_one()
        add_waiting(database, workspace, flow_id, add_people(database, workspace, 1)[0])
        api.post(ACTIONS, {"flows": [uuid], "action": "archive"})

        with database.writing() as tx:
            show_counts(tx, workspace.id)

        with database.reading() as tx:
            assert tx.execute(select(flow.c.counted_on).where(flow.c.id == flow_id)).scalar_one() is not None

    def test_flows_are_all_archived_or_none(self, api: Api, registration: dict[str, Any]) -> None:
        free = api.post(PATH, {"name": "Free"}).json()["uuid"]
        reminder = read_registration()["flows"][2]["uuid"]

        refused = api.post(ACTIONS, {"flows": [free, reminder], "action": "archive"})

        assert refused.status_code == 400
        assert "Checkups" in refused.json()["detail"]
        assert api.results(PATH, archived="true") == []

    def test_labels_are_made_when_first_used_and_gone_with_their_last_flow(self, api: Api) -> None:
        uuids = [api.post(PATH, {"name": name}).json()["uuid"] for name in ("One", "Two")]

        assert api.post(ACTIONS, {"flows": uuids, "action": "label", "label": "Health"}).status_code == 204
        assert [[each["name"] for each in record["labels"]] for record in api.results(PATH)] == [["Health"]] * 2
        assert api.post(ACTIONS, {"flows": uuids[:1], "action": "unlabel", "label": "health"}).status_code == 204
        assert sorted(len(record["labels"]) for record in api.results(PATH)) == [0, 1]
        unknown = api.post(ACTIONS, {"flows": uuids, "action": "unlabel", "label": "Sport"})
        assert (unknown.status_code, "label" in unknown.json()) == (400, True)
        assert "label" in api.post(ACTIONS, {"flows": uuids, "action": "label", "label": 'a"b'}).json()

    @pytest.mark.parametrize("body", [{"action": "label"}, {"action": "archive", "label": "Health"}, {"action": "fly"}])
    def test_an_action_that_does_not_fit_is_refused(self, api: Api, body: Any) -> None:
        uuid = api.post(PATH, {"name": "One"}).json()["uuid"]

        assert api.post(ACTIONS, {"flows": [uuid], **body}).status_code == 400
        assert api.post(ACTIONS, {"flows": [uuid, new_uuid()], "action": "archive"}).json()["flows"]
        assert api.results(PATH)[0]["archived"] is False


def test_the_commands_of_the_guides_make_what_they_say(tmp_path: Path) -> None:
    pages = [ROOT / "docs" / f"{name}.md" for name in ("flows", "subscriptions", "data", "accounts")]
    blocks = [block for page in pages for block in read_blocks(page) if block.language == "curl"]
    made = []
    with forked_service(f"sqlite:///{tmp_path / 'relayboard.db'}", tmp_path, processes=("api",)) as service:
        for block in blocks:
            text = block.text.replace("TOKEN", service.token).replace("http://127.0.0.1:8080", service.url)
            run = subprocess.run(shlex.split(text), capture_output=True, check=True, timeout=PATIENCE_SECONDS)
            is_file = "format=csv" in text
            made.append(run.stdout.decode("utf-8-sig").splitlines() if is_file else orjson.loads(run.stdout))

    flow, played, archived, broadcast, subscription, job, figures, workspace, team = made
    assert [each["passed"] for each in played["results"]] == [True]
    assert archived["results"] == []
    assert (flow["name"], broadcast["status"]) == ("Registration", "draft")
    assert subscription["events"] == ["contact.created", "message.received"]
    assert (job["action"], job["status"]) == ("block", "pending")
    assert figures[0].startswith("key,name,")
    assert workspace["origins"] == ["https://app.example.org"]
    assert team["name"] == "Night shift"
