"""`/api/v2/flows.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.flows.records import add_flow_label, remove_flow_label
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.run_rows import add_flow, add_people, add_run, uuid_of

PATH = "/api/v2/flows.json"


def names(records: list[dict[str, Any]]) -> list[str]:
    return [record["name"] for record in records]


def change(database: Database, flow_id: int, **values: Any) -> None:
    with database.writing() as tx:
        tx.execute(update(flow).where(flow.c.id == flow_id).values(**values))


class TestListFlows:
    def test_a_flow_is_shown_with_all_that_is_known_of_it(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        result = {"key": "age", "name": "Age", "categories": ["Young", "Old"], "node_uuids": []}
        flow_id = add_flow(database, workspace)
        change(database, flow_id, results=[result], parent_refs=["district"], expires_after_minutes=60)

        record = api.results(PATH)[0]

        assert record == {
            "uuid": uuid_of(database, flow, flow_id),
            "name": "Registration",
            "type": "message",
            "archived": False,
            "labels": [],
            "expires": 60,
            "runs": {"active": 0, "completed": 0, "interrupted": 0, "expired": 0},
            "results": [result],
            "parent_refs": ["district"],
            "created_on": record["created_on"],
            "modified_on": record["created_on"],
        }

    def test_flows_come_by_their_last_change(self, api: Api, database: Database, workspace: Workspace) -> None:
        first = add_flow(database, workspace, "First")
        add_flow(database, workspace, "Second")
        with database.writing() as tx:
            tx.execute(update(flow).where(flow.c.id == first).values(modified_on=tx.now))

        assert names(api.results(PATH)) == ["First", "Second"]

    def test_runs_are_counted_by_how_they_ended(self, api: Api, database: Database, workspace: Workspace) -> None:
        flow_id = add_flow(database, workspace)
        people = add_people(database, workspace, 5)
        for contact_id, status in zip(
            people, ("waiting", "active", "completed", "interrupted", "expired"), strict=True
        ):
            add_run(database, workspace, flow_id, contact_id, status)

        assert api.results(PATH)[0]["runs"] == {"active": 2, "completed": 1, "interrupted": 1, "expired": 1}

    def test_labels_come_by_name_until_they_are_taken_off(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        flow_id = add_flow(database, workspace)
        with database.writing() as tx:
            for name in ("Health", "births", "BIRTHS", "Old"):
                add_flow_label(tx, workspace.id, flow_id, name)
            remove_flow_label(tx, workspace.id, flow_id, "old")

        assert names(api.results(PATH)[0]["labels"]) == ["births", "Health"]

    def test_a_flow_without_waits_is_shown_as_one_about_messages(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        change(database, add_flow(database, workspace), type="background")

        assert [record["type"] for record in api.results(PATH, type="message")] == ["message"]

    @pytest.mark.parametrize(
        ("shown", "expected"), [("voice", ["Hotline"]), ("message", ["Registration"]), ("fax", [])]
    )
    def test_the_type_chooses_flows(
        self, api: Api, database: Database, workspace: Workspace, shown: str, expected: list[str]
    ) -> None:
        add_flow(database, workspace)
        change(database, add_flow(database, workspace, "Hotline"), type="voice")

        assert names(api.results(PATH, type=shown)) == expected

    @pytest.mark.parametrize(
        ("asked", "expected"), [("true", ["Old"]), ("no", ["Registration"]), ("", ["Old", "Registration"])]
    )
    def test_archived_flows_are_listed_unless_they_are_left_out(
        self, api: Api, database: Database, workspace: Workspace, asked: str, expected: list[str]
    ) -> None:
        add_flow(database, workspace)
        change(database, add_flow(database, workspace, "Old"), is_archived=True)

        assert names(api.results(PATH, archived=asked)) == expected
