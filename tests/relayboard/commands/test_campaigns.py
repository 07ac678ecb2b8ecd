"""`relayboard campaign`: listing and archiving campaigns."""

from functools import partial

import pytest

from tests.api import Api
from tests.campaign_rows import make_campaign

CAMPAIGNS = "/api/v2/campaigns.json"


@pytest.fixture
def run(command):
    return partial(command, "campaign")


def test_the_campaigns_of_a_workspace_are_listed_as_the_api_shows_them(
    run, api: Api, database, workspace, other_workspace
):
    for name in ("Antenatal", "Postnatal"):
        make_campaign(database, workspace, name)
    make_campaign(database, other_workspace, "Theirs")

    assert run("list", "--workspace", workspace.uuid) == (0, api.results(CAMPAIGNS))


def test_an_archived_campaign_frees_its_group(run, api: Api, database, workspace):
    uuid = make_campaign(database, workspace, "Antenatal")
    group = api.results(CAMPAIGNS)[0]["group"]["uuid"]
    assert api.delete("/api/v2/groups.json", uuid=group).status_code == 400

    status, printed = run("archive", "--campaign", uuid)

    assert (status, printed["archived"]) == (0, True)
    assert api.delete("/api/v2/groups.json", uuid=group).status_code == 204
    assert run("archive", "--campaign", uuid) == (1, None)
