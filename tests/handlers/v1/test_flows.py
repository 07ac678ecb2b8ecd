"""`/api/v1/flows.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.flows.records import add_flow_label
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.run_rows import add_flow, add_people, add_run, uuid_of

PATH = "/api/v1/flows.json"


def label(database: Database, workspace: Workspace, flow_id: int, name: str) -> None:
    with database.writing() as tx:
        add_flow_label(tx, workspace.id, flow_id, name)


def change(database: Database, flow_id: int, **values: Any) -> None:
    with database.writing() as tx:
        tx.execute(update(flow).where(flow.c.id == flow_id).values(**values))


def found(api: Api, **query: Any) -> list[str]:
    return [record["name"] for record in api.get(PATH, **query).json()["results"]]


class TestListFlows:
    def test_a_flow_is_shown_in_plain_values(self, api: Api, database: Database, workspace: Workspace) -> None:
        flow_id = add_flow(database, workspace)
        label(database, workspace, flow_id, "Health")
        first, second = add_people(database, workspace, 2)
        add_run(database, workspace, flow_id, first)
        add_run(database, workspace, flow_id, second, "waiting")

        page = api.get(PATH).json()

        record = page["results"][0]
        assert (page["count"], page["next"], page["previous"]) == (1, None, None)
        assert record == {
            "uuid": uuid_of(database, flow, flow_id),
            "archived": False,
            "expires": 0,
            "name": "Registration",
            "labels": ["Health"],
            "runs": 2,
            "completed_runs": 1,
            "participants": None,
            "rulesets": [],
            "created_on": record["created_on"],
            "flow": flow_id,
        }

    def test_flows_are_chosen_by_several_ids(self, api: Api, database: Database, workspace: Workspace) -> None:
        ids = [add_flow(database, workspace, name) for name in ("One", "Two", "Three")]

        assert found(api, flow=f"{ids[0]},{ids[2]}") == ["Three", "One"]
        assert found(api, flow=999_999) == []

    def test_a_label_is_named_in_any_case_and_may_hold_a_comma(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        label(database, workspace, add_flow(database, workspace, "One"), "Mothers, Babies")
        label(database, workspace, add_flow(database, workspace, "Two"), "Mothers")

        assert found(api, label="mothers, babies") == ["One"]
        assert found(api, label=["MOTHERS", "Mothers, Babies"]) == ["Two", "One"]
        assert found(api, label="Babies") == []
        assert found(api, label="babies, mothers") == ["Two"]

    @pytest.mark.parametrize(("asked", "expected"), [("Y", ["Old"]), ("n", ["New"]), ("", ["Old", "New"])])
    def test_archived_flows_are_chosen_or_left_out(
        self, api: Api, database: Database, workspace: Workspace, asked: str, expected: list[str]
    ) -> None:
        add_flow(database, workspace, "New")
        change(database, add_flow(database, workspace, "Old"), is_archived=True)

        assert found(api, archived=asked) == expected

    @pytest.mark.parametrize(("letters", "expected"), [("V", ["Call"]), ("f,s", ["Survey", "Text"]), ("M", ["Text"])])
    def test_types_are_chosen_by_letter(
        self, api: Api, database: Database, workspace: Workspace, letters: str, expected: list[str]
    ) -> None:
        change(database, add_flow(database, workspace, "Text"), type="background")
        change(database, add_flow(database, workspace, "Call"), type="voice")
        change(database, add_flow(database, workspace, "Survey"), type="survey")

        assert found(api, type=letters) == expected
        assert api.get(PATH, type="X").status_code == 400
