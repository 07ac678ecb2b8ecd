"""Workspaces by command."""

import json
from pathlib import Path

import pytest
from sqlalchemy import select, update

from persistence.database import Database
from persistence.groups.smart_groups import create_query_group
from persistence.tables.contacts import INITIALIZING, READY, group
from persistence.workspaces.records import Workspace
from relayboard.cli import main


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)


@pytest.mark.parametrize(
    ("given", "country"),
    [
        (["--timezone", "Africa/Kigali"], "RW"),
        (["--timezone", "Asia/Calcutta"], "IN"),
        (["--timezone", "Africa/Kigali", "--country", "UG"], "UG"),
        (["--timezone", "UTC"], ""),
        (["--timezone", "Etc/GMT+3"], ""),
        ([], ""),
    ],
)
def test_a_workspace_without_country_has_that_of_its_time_zone(
    capsys: pytest.CaptureFixture[str], given: list[str], country: str
) -> None:
    assert main(["workspace", "create", "--name", "Clinic", *given]) == 0

    assert json.loads(capsys.readouterr().out)["country"] == country


def test_languages_are_taken_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workspace", "create", "--name", "Clinic", "--language", "KIN"]) == 0

    assert json.loads(capsys.readouterr().out)["languages"] == ["kin"]


def test_what_is_changed_is_shown_and_what_is_not_given_stays(
    capsys: pytest.CaptureFixture[str], workspace: Workspace
) -> None:
    given = ["--workspace", workspace.uuid]

    assert main(["workspace", "change", *given, "--name", "North", "--anon", "yes"]) == 0
    changed = json.loads(capsys.readouterr().out)
    assert main(["workspace", "show", *given]) == 0
    assert json.loads(capsys.readouterr().out) == changed
    assert (changed["name"], changed["anon"], changed["timezone"]) == ("North", True, workspace.timezone)


@pytest.mark.parametrize("given", [[], ["--timezone", "Nowhere/Land"], ["--language", "xx"], ["--name", " "]])
def test_what_cannot_be_changed_is_refused(workspace: Workspace, given: list[str]) -> None:
    assert main(["workspace", "change", "--workspace", workspace.uuid, *given]) == 1


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (["--date-style", "year_first"], INITIALIZING),
        (["--timezone", "Asia/Tokyo"], INITIALIZING),
        (["--country", "UG"], READY),
    ],
)
def test_smart_groups_are_worked_out_again_where_dates_are_read_otherwise(
    database: Database, workspace: Workspace, given: list[str], status: str
) -> None:
    with database.writing() as tx:
        create_query_group(tx, workspace, "Aminas", 'name = "Amina"')
        tx.execute(update(group).values(status=READY))

    assert main(["workspace", "change", "--workspace", workspace.uuid, *given]) == 0

    with database.reading() as tx:
        assert tx.execute(select(group.c.status).where(group.c.name == "Aminas")).scalar_one() == status
