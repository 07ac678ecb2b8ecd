"""The steps of flows as generation 1 shows them."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.definition_files import bring_in, make_definition, make_file, read_registration

PATH = "/api/v1/flows.json"


def make_step(top: int = 0, **router: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A node that saves a result, and its place in the editor."""
    exit_uuid, category = new_uuid(), new_uuid()
    made = {
        "type": "switch",
        "operand": "@input.text",
        "result_name": "Answer",
        "categories": [{"uuid": category, "name": "All Responses", "exit_uuid": exit_uuid}],
        "cases": [],
        "default_category_uuid": category,
    }
    node = {
        "uuid": new_uuid(),
        "actions": [],
        "router": made | router,
        "exits": [{"uuid": exit_uuid, "destination_uuid": None}],
    }
    return node, {"position": {"left": 0, "top": top}}


def rulesets_of(api: Api, database: Database, workspace: Workspace, *steps: Any, **values: Any) -> list[Any]:
    ui = {"nodes": {node["uuid"]: place for node, place in steps}}
    given = make_definition(**values) | {"nodes": [node for node, _ in steps], "_ui": ui}
    bring_in(database, workspace, make_file(given))
    shown: list[Any] = api.get(PATH).json()["results"][0]["rulesets"]
    return shown


def test_each_step_that_saves_a_result_is_shown(api: Api, database: Database, workspace: Workspace) -> None:
    bring_in(database, workspace, read_registration())

    flows = {one["name"]: one for one in api.get(PATH).json()["results"]}

    shown = [(one["label"], one["ruleset_type"], one["response_type"]) for one in flows["Registration"]["rulesets"]]
    assert shown[:3] == [("Name", "wait_message", "O"), ("Age", "wait_message", "C"), ("Clinic", "webhook", "C")]
    assert len({one["id"] for flow in flows.values() for one in flow["rulesets"]}) == 6


def test_steps_come_from_top_to_bottom(api: Api, database: Database, workspace: Workspace) -> None:
    low, high = make_step(500, result_name="Low"), make_step(100, result_name="High")

    shown = rulesets_of(api, database, workspace, low, high)

    assert [one["label"] for one in shown] == ["High", "Low"]


@pytest.mark.together
@pytest.mark.parametrize(
    ("router", "kind", "response"),
    [
        ({"wait": {"type": "msg"}}, "wait_message", "O"),
        ({"wait": {"type": "msg", "hint": {"type": "digits", "count": 1}}}, "wait_digit", "O"),
        ({"wait": {"type": "msg", "hint": {"type": "digits"}}}, "wait_digits", "K"),
        ({"wait": {"type": "msg", "hint": {"type": "audio"}}}, "wait_recording", "R"),
        ({"operand": "@contact.groups"}, "group", "O"),
        ({"operand": "@fields.age"}, "contact_field", "O"),
        ({"operand": "@results.name"}, "expression", "O"),
    ],
)
def test_steps_are_named_by_what_they_do(
    api: Api, database: Database, workspace: Workspace, router: dict[str, Any], kind: str, response: str
) -> None:
    shown = rulesets_of(api, database, workspace, make_step(**router), type="voice")

    assert [(one["ruleset_type"], one["response_type"]) for one in shown] == [(kind, response)]
