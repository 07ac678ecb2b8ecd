"""`relayboard campaign`: listing and archiving campaigns."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from relayboard.cli import main
from tests.api import Api
from tests.campaign_rows import make_campaign

CAMPAIGNS = "/api/v2/campaigns.json"


@pytest.fixture
def run(capsys, monkeypatch, database_url, tmp_path) -> Callable[..., tuple[int, Any]]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)

    def run_command(*arguments: str) -> tuple[int, Any]:
        status = main(["campaign", *arguments])
        printed = capsys.readouterr().out
        return status, json.loads(printed) if printed else None

    return run_command


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


@pytest.mark.parametrize("uuid", ["nonsense", "00000000-0000-4000-8000-000000000000"])
def test_an_unknown_campaign_is_an_error(run, uuid):
    assert run("archive", "--campaign", uuid) == (1, None)
