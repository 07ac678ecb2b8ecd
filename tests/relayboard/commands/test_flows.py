"""`relayboard flow` and `relayboard trigger`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.definition_files import REGISTRATION, bring_in, make_definition, make_file, read_registration
from tests.relayboard.commands.conftest import Command

Run = Callable[..., tuple[int, Any, str]]
NOWHERE = "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e"


@pytest.fixture
def run(command: Command, workspace: Workspace) -> Run:
    """Runs a command for the workspace; its status, the JSON that it prints and its error."""

    def run_command(noun: str, verb: str, *arguments: str) -> tuple[int, Any, str]:
        return *command(noun, verb, "--workspace", workspace.uuid, *arguments), command.complaint

    return run_command


@pytest.fixture
def flow_uuid(database: Database, workspace: Workspace) -> str:
    """A flow that says nothing."""
    given = make_definition()
    bring_in(database, workspace, make_file(given))
    uuid: str = given["uuid"]
    return uuid


@pytest.fixture
def group_uuid(api: Api) -> str:
    uuid: str = api.post("/api/v2/groups.json", {"name": "Mothers"}).json()["uuid"]
    return uuid


class TestExport:
    def test_a_whole_workspace_imports_elsewhere_to_the_same(
        self, run: Run, database: Database, workspace: Workspace, other_workspace: Workspace
    ) -> None:
        bring_in(database, workspace, read_registration())

        status, document, complaint = run("flow", "export")

        assert (status, complaint) == (0, "")
        parts = ("flows", "campaigns", "triggers", "groups")
        assert [len(document[part]) for part in parts] == [len(read_registration()[part]) for part in parts]
        assert {each["key"] for each in document["fields"]} == {"age", "due_date", "consent_date"}
        report = bring_in(database, other_workspace, document)
        assert [each["name"] for each in report.flows] == ["Registration", "Consent", "Checkup Reminder"]
        assert (report.renamed, report.skipped) == ([], [])

    def test_archived_flows_stay_out_of_it(self, run: Run, database: Database, workspace: Workspace) -> None:
        kept, archived = make_definition(name="Kept"), make_definition(name="Old")
        bring_in(database, workspace, make_file(kept, archived))
        run("flow", "archive", "--flow", archived["uuid"])

        assert [each["name"] for each in run("flow", "export")[1]["flows"]] == ["Kept"]

    def test_some_flows_come_with_what_they_need_or_alone(
        self, run: Run, database: Database, workspace: Workspace
    ) -> None:
        bring_in(database, workspace, read_registration())
        registration = read_registration()["flows"][0]["uuid"]

        together = run("flow", "export", "--flow", registration)[1]
        alone = run("flow", "export", "--flow", registration, "--dependencies", "none")[1]

        assert "Consent" in [each["name"] for each in together["flows"]]
        assert [each["name"] for each in alone["flows"]] == ["Registration"]

    def test_it_is_written_to_a_file(self, run: Run, database: Database, workspace: Workspace, tmp_path: Path) -> None:
        bring_in(database, workspace, read_registration())
        path = tmp_path / "export.json"

        assert run("flow", "export", "--output", str(path)) == (0, None, "")
        assert json.loads(path.read_text())["version"] == "13"


class TestFlowCommands:
    def test_one_definition_is_imported(self, run: Run, api: Api, tmp_path: Path) -> None:
        path = tmp_path / "welcome.json"
        path.write_text(json.dumps(make_definition(name='The "first"')))

        status, printed, _ = run("flow", "import", str(path))

        assert status == 0
        assert printed["renamed"] == [{"type": "flow", "name": 'The "first"', "new_name": "The 'first'"}]
        assert [each["name"] for each in api.results("/api/v2/flows.json")] == ["The 'first'"]

    def test_an_import_prints_what_it_did(self, run: Run, api: Api) -> None:
        status, printed, complaint = run("flow", "import", str(REGISTRATION))

        assert (status, complaint) == (0, "")
        assert [one["name"] for one in printed["flows"]] == ["Registration", "Consent", "Checkup Reminder"]
        assert printed["made"]["labels"] == ["Consent given"]
        assert len(api.results("/api/v2/flows.json")) == 3

    def test_a_second_import_says_that_nothing_changed(self, run: Run) -> None:
        run("flow", "import", str(REGISTRATION))

        status, printed, _ = run("flow", "import", str(REGISTRATION))

        assert status == 0
        assert {one["change"] for one in printed["flows"]} == {"unchanged"}

    def test_problems_are_told_by_place_and_nothing_is_changed(self, run: Run, api: Api, tmp_path: Path) -> None:
        document = read_registration()
        node = document["flows"][1]["nodes"][0]
        node["exits"][0]["destination_uuid"] = NOWHERE
        path = tmp_path / "broken.json"
        path.write_text(json.dumps(document))

        status, printed, complaint = run("flow", "import", str(path))

        assert (status, printed) == (1, None)
        assert f"flows[1]: flow {document['flows'][1]['uuid']}, node {node['uuid']}, field exits" in complaint
        assert api.results("/api/v2/flows.json") == []

    @pytest.mark.parametrize(("content", "reason"), [(None, "cannot be read"), ("{", "is not JSON"), ("[]", "object")])
    def test_what_is_no_export_is_refused(self, run: Run, tmp_path: Path, content: str | None, reason: str) -> None:
        path = tmp_path / "file.json"
        if content is not None:
            path.write_text(content)

        status, printed, complaint = run("flow", "import", str(path))

        assert (status, printed) == (1, None)
        assert reason in complaint

    def test_flows_are_listed_as_the_api_shows_them(self, run: Run, api: Api, flow_uuid: str) -> None:
        _, printed, _ = run("flow", "list")

        assert printed == api.results("/api/v2/flows.json")

    def test_an_archived_flow_is_shown_as_such(self, run: Run, api: Api, flow_uuid: str) -> None:
        status, printed, _ = run("flow", "archive", "--flow", flow_uuid)

        assert (status, printed["archived"]) == (0, True)
        assert api.results("/api/v2/flows.json", archived="no") == []

    def test_labels_are_put_on_and_taken_off(self, run: Run, flow_uuid: str) -> None:
        _, labeled, _ = run("flow", "label", "--flow", flow_uuid, "--name", "Health")
        _, bare, _ = run("flow", "label", "--flow", flow_uuid, "--name", "health", "--remove")

        assert [one["name"] for one in labeled["labels"]] == ["Health"]
        assert bare["labels"] == []

    def test_a_flow_may_ignore_triggers(self, run: Run, database: Database, flow_uuid: str) -> None:
        shown = []
        for word in ("yes", "no"):
            _, printed, _ = run("flow", "change", "--flow", flow_uuid, "--ignore-triggers", word)
            with database.reading() as tx:
                shown.append((printed["ignores_triggers"], tx.execute(select(flow.c.ignores_triggers)).scalar_one()))

        assert shown == [(True, True), (False, False)]


class TestTriggerCommands:
    def test_a_keyword_trigger_is_printed_and_listed(self, run: Run, flow_uuid: str, group_uuid: str) -> None:
        words = ("--keyword", "Join", "--keyword", "signup", "--match", "only")

        status, made, _ = run(
            "trigger", "create", "--type", "keyword", "--flow", flow_uuid, *words, "--group", group_uuid
        )

        _, listed, _ = run("trigger", "list")
        assert status == 0
        assert (made["keywords"], made["match"], made["flow"]["uuid"]) == (["join", "signup"], "only", flow_uuid)
        assert [one["name"] for one in made["groups"]] == ["Mothers"]
        assert made["exclude_groups"] == []
        assert listed == [made]

    @pytest.mark.usefixtures("group_uuid")
    def test_the_groups_of_a_trigger_are_called_by_name_in_any_case(self, run: Run, flow_uuid: str) -> None:
        words = ("--type", "keyword", "--flow", flow_uuid, "--keyword")

        _, only, _ = run("trigger", "create", *words, "join", "--group", "mothers")
        _, without, _ = run("trigger", "create", *words, "leave", "--exclude-group", " Mothers")
        status, printed, complaint = run("trigger", "create", *words, "stay", "--group", "Fathers")

        assert [one["name"] for one in only["groups"]] == ["Mothers"]
        assert [one["name"] for one in without["exclude_groups"]] == ["Mothers"]
        assert (status, printed) == (1, None) and 'there is no group "Fathers"' in complaint

    def test_a_schedule_is_due_by_the_clock_of_the_workspace(self, run: Run, flow_uuid: str, group_uuid: str) -> None:
        timing = ("--at", "2098-03-02T08:00", "--repeat", "monthly", "--group", group_uuid)

        _, made, _ = run("trigger", "create", "--type", "schedule", "--flow", flow_uuid, *timing)

        assert made["next_fire_on"] == "2098-03-02T06:00:00.000000Z"
        assert (made["repeat"], made["days"]) == ("monthly", "2")

    @pytest.mark.parametrize(
        "arguments",
        [
            ["keyword"],
            ["keyword", "--keyword", "two words"],
            ["catch_all", "--keyword", "join"],
            ["catch_all", "--at", "2098-03-02T08:00"],
            ["catch_all", "--group", NOWHERE],
            ["catch_all", "--channel", NOWHERE],
            ["incoming_call"],
            ["schedule", "--at", "2098-03-02T08:00"],
        ],
    )
    def test_a_trigger_that_makes_no_sense_is_refused(self, run: Run, flow_uuid: str, arguments: list[str]) -> None:
        status, printed, complaint = run("trigger", "create", "--flow", flow_uuid, "--type", *arguments)

        assert (status, printed) == (1, None)
        assert complaint

    @pytest.mark.parametrize(
        "timing",
        [
            [],
            ["--at", "2001-03-02T08:00"],
            ["--at", "2098-03-02T08:00", "--repeat", "weekly"],
            ["--at", "2098-03-02T08:00", "--repeat", "weekly", "--days", "MX"],
            ["--at", "2098-03-02T08:00", "--repeat", "daily", "--days", "M"],
        ],
    )
    def test_a_schedule_needs_a_time_that_makes_sense(
        self, run: Run, flow_uuid: str, group_uuid: str, timing: list[str]
    ) -> None:
        status, printed, _ = run(
            "trigger", "create", "--type", "schedule", "--flow", flow_uuid, "--group", group_uuid, *timing
        )

        assert (status, printed) == (1, None)

    def test_two_triggers_may_not_claim_one_keyword_unless_their_groups_differ(
        self, run: Run, flow_uuid: str, group_uuid: str
    ) -> None:
        words = ("create", "--type", "keyword", "--flow", flow_uuid, "--keyword")
        run("trigger", *words, "join")

        same, _, complaint = run("trigger", *words, "JOIN")
        other, _, _ = run("trigger", *words, "join", "--group", group_uuid)

        assert (same, other) == (1, 0)
        assert "does this already" in complaint

    def test_an_archived_trigger_claims_nothing(self, run: Run, flow_uuid: str) -> None:
        _, made, _ = run("trigger", "create", "--type", "catch_all", "--flow", flow_uuid)

        _, archived, _ = run("trigger", "archive", "--trigger", made["uuid"])
        again, _, _ = run("trigger", "create", "--type", "catch_all", "--flow", flow_uuid)

        assert (archived["archived"], again) == (True, 0)

    def test_an_archived_flow_gets_no_triggers(self, run: Run, flow_uuid: str) -> None:
        run("flow", "archive", "--flow", flow_uuid)

        assert run("trigger", "create", "--type", "catch_all", "--flow", flow_uuid)[0] == 1
