"""`/api/v2/flow_revisions.json` over HTTP."""

import pytest

from persistence.database import Database
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.definition_files import bring_in, make_definition, make_file, say

PATH = "/api/v2/flow_revisions.json"
NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def flow(api: Api, database: Database, workspace: Workspace) -> str:
    """A flow that was imported twice, with another text."""
    first = make_definition(say("Good morning"))
    bring_in(database, workspace, make_file(first))
    bring_in(database, workspace, make_file({**make_definition(say("Good evening")), "uuid": first["uuid"]}))
    (record,) = api.results("/api/v2/flows.json")
    return str(record["uuid"])


def test_revisions_come_newest_first_and_each_can_be_read(api: Api, flow: str) -> None:
    found = api.get(PATH, uuid=flow).json()

    assert [(each["number"], each["is_current"]) for each in found["revisions"]] == [(2, True), (1, False)]
    assert found["definition"] is None
    texts = [str(api.get(PATH, uuid=flow, number=number).json()["definition"]["nodes"]) for number in (1, 2)]
    assert ["Good morning" in texts[0], "Good evening" in texts[1]] == [True, True]


def test_unknown_flows_and_revisions_are_not_found(api: Api, flow: str) -> None:
    assert api.get(PATH, uuid=flow, number=3).status_code == 404
    assert api.get(PATH, uuid=NOWHERE).status_code == 404
    assert api.as_role("agent").get(PATH, uuid=flow).status_code == 403
