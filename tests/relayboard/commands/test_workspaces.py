"""Workspaces by command."""

import json
from pathlib import Path

import pytest

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
