"""`flows.json` of both generations over HTTP."""

from typing import Any

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.flows.records import add_flow_label, remove_flow_label
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.run_rows import add_flow, add_people, add_run, uuid_of

V1, V2 = "/api/v1/flows.json", "/api/v2/flows.json"


def label(database: Database, workspace: Workspace, flow_id: int, *names: str) -> None:
    with database.writing() as tx:
        for name in names:
            add_flow_label(tx, workspace.id, flow_id, name)


def change(database: Database, flow_id: int, **values: Any) -> None:
    with database.writing() as tx:
        tx.execute(update(flow).where(flow.c.id == flow_id).values(**values))


def found(api: Api, path: str, **query: Any) -> list[str]:
    return [record["name"] for record in api.results(path, **query)]


class TestShownFlow:
    def test_generation_1_shows_a_flow_in_plain_values(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        flow_id = add_flow(database, workspace)

        page = api.get(V1).json()

        record = page["results"][0]
        assert (page["count"], page["next"], page["previous"]) == (1, None, None)
        assert record == {
            "uuid": uuid_of(database, flow, flow_id),
            "archived": False,
            "expires": 0,
            "name": "Registration",
            "labels": [],
            "runs": 0,
            "completed_runs": 0,
            "participants": None,
            "rulesets": [],
            "created_on": record["created_on"],
            "flow": flow_id,
        }

    def test_generation_2_shows_all_that_is_known_of_it(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        result = {"key": "age", "name": "Age", "categories": ["Young", "Old"], "node_uuids": []}
        flow_id = add_flow(database, workspace)
        change(database, flow_id, results=[result], parent_refs=["district"], expires_after_minutes=60)

        record = api.results(V2)[0]

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

    def test_runs_are_counted_by_how_they_ended_and_in_generation_1_whether_they_came_to_the_end(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        flow_id = add_flow(database, workspace)
        statuses = ["waiting", "active", *["completed"] * 4, "interrupted", *["expired"] * 3]
        for contact_id, status in zip(add_people(database, workspace, len(statuses)), statuses, strict=True):
            add_run(database, workspace, flow_id, contact_id, status)

        (older,), (newer,) = api.results(V1), api.results(V2)

        assert newer["runs"] == {"active": 2, "completed": 4, "interrupted": 1, "expired": 3}
        assert (older["runs"], older["completed_runs"]) == (10, 4)

    def test_labels_come_by_name_until_they_are_taken_off(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        flow_id = add_flow(database, workspace)
        label(database, workspace, flow_id, "Health", "births", "BIRTHS", "Old")
        with database.writing() as tx:
            remove_flow_label(tx, workspace.id, flow_id, "old")

        (older,), (newer,) = api.results(V1), api.results(V2)

        assert older["labels"] == [each["name"] for each in newer["labels"]] == ["births", "Health"]


class TestFilters:
    def test_generation_1_may_ask_for_several_ids(self, api: Api, database: Database, workspace: Workspace) -> None:
        ids = [add_flow(database, workspace, name) for name in ("One", "Two", "Three")]

        assert found(api, V1, flow=f"{ids[0]},{ids[2]}") == ["Three", "One"]

    def test_a_label_is_named_in_any_case_and_may_hold_a_comma(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        label(database, workspace, add_flow(database, workspace, "One"), "Mothers, Babies")
        label(database, workspace, add_flow(database, workspace, "Two"), "Mothers")

        assert found(api, V1, label="mothers, babies") == ["One"]
        assert found(api, V1, label=["MOTHERS", "Mothers, Babies"]) == ["Two", "One"]
        assert found(api, V1, label="Babies") == []
        assert found(api, V1, label="babies, mothers") == ["Two"]

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            (V1, {"Y": ["Old"], "n": ["New"], "": ["Old", "New"]}),
            (V2, {"true": ["Old"], "no": ["New"], "": ["Old", "New"]}),
        ],
    )
    def test_archived_flows_are_listed_unless_they_are_chosen_or_left_out(
        self, api: Api, database: Database, workspace: Workspace, path: str, expected: dict[str, list[str]]
    ) -> None:
        add_flow(database, workspace, "New")
        change(database, add_flow(database, workspace, "Old"), is_archived=True)

        assert {asked: found(api, path, archived=asked) for asked in expected} == expected

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            (V1, {"V": ["Call"], "f,s": ["Survey", "Text"], "M": ["Text"]}),
            (V2, {"voice": ["Call"], "message": ["Text"], "survey": ["Survey"], "fax": []}),
        ],
    )
    def test_the_type_chooses_flows_among_which_those_without_waits_are_about_messages(
        self, api: Api, database: Database, workspace: Workspace, path: str, expected: dict[str, list[str]]
    ) -> None:
        for name, kind in (("Text", "background"), ("Call", "voice"), ("Survey", "survey")):
            change(database, add_flow(database, workspace, name), type=kind)

        assert {asked: found(api, path, type=asked) for asked in expected} == expected
        assert [record["type"] for record in api.results(V2, type="message")] == ["message"]
