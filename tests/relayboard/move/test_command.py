"""The command: what it reads, writes and says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from persistence.database import Database
from persistence.move.moves import find_move
from persistence.workspaces.records import Workspace
from relayboard.cli import main
from testbed.tokens import SECRET_KEY, make_token
from tests.relayboard.move.other_server import TOKEN, OtherServer
from tests.relayboard.move.other_workspace import contact, fill, uid

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    database_url: str,
    workspace: Workspace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
    monkeypatch.setenv("RELAYBOARD_MOVE_TOKEN", TOKEN)

    def call(*words: str, status: int = 0) -> dict[str, Any]:
        assert main(["move", "--workspace", workspace.uuid, *words]) == status
        said = capsys.readouterr()
        document: dict[str, Any] = json.loads(said.out) if said.out else {}
        return {**document, "err": said.err}

    return call


def steps(report: dict[str, Any]) -> dict[str, str]:
    return {each["step"]: each["state"] for each in report["checklist"]}


def kinds(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in report["kinds"]}


def test_a_workspace_is_copied_compared_and_switched(run: Run, other: OtherServer, tmp_path: Path) -> None:
    fill(other)

    report = run("--from", other.url)
    assert (report["is_complete"], report["is_equal"], kinds(report)["contact"]["carried"]) == (True, None, 5)
    assert steps(report) | {"copy": "done", "verify": "open", "finish": "open", "people": "open"} == steps(report)
    assert report["lost"]["user"]["records"] == [
        {"name": "bench@example.com", "why": "is administrator there: invite them here", "is_here": False}
    ]
    assert "messages: 9 read" in report["err"]

    page = tmp_path / "report.html"
    report = run("--verify", "--report", str(page), "--report", str(tmp_path / "report.txt"))
    assert report["is_equal"] is True
    compared = kinds(report)
    assert {name: compared["message"][name] for name in ("there", "here", "lost", "missing", "different")} == {
        "there": 9,
        "here": 8,
        "lost": 1,
        "missing": 0,
        "different": 0,
    }
    assert compared["run"]["samples"] == 4
    assert "Both sides agree." in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert "[x] Both sides were compared" in (tmp_path / "report.txt").read_text()

    changed = {"visibility": "archived", "archived": True, "created_on": "2099-01-01T00:00:00Z"}
    other.lists["messages"][0] |= changed
    report = run("--finish")
    assert (steps(report)["finish"], kinds(report)["campaign"]["carried"]) == ("done", 1)
    assert report == run("--status") | {"err": report["err"]}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_differences_are_named_and_are_a_failure(run: Run, other: OtherServer) -> None:
    fill(other)
    run("--from", other.url)
    other.lists["contacts"][2]["name"] = "Changed in secret"
    other.lists["contacts"].append(contact(50))

    report = run("--verify", status=1)

    found = kinds(report)["contact"]
    assert (report["is_equal"], found["missing"], found["missing_names"]) == (False, 1, [uid(10, 50)])
    assert found["differences"] == [
        {"reference": uid(10, 2), "field": "name", "there": "Changed in secret", "here": "Person 2"}
    ]
    assert "both sides differ" in report["err"]
    (kept,) = kinds(run("--status"))["contact"]["differences"]
    assert kept == {"reference": uid(10, 2), "field": "name", "there": "", "here": ""}, "values are not kept"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "--from says which server to copy"),
        (("--from", "example.org"), "example.org is not the URL of a server"),
        (("--from", "https://old.example.org", "--verify"), "nothing was copied from https://old.example.org yet"),
    ],
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_cannot_be_done_is_told(run: Run, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in run(*words, status=1)["err"]


@pytest.mark.parametrize("words", [(), ("--all",), ("--finish",), ("--verify",)])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_workspace_is_not_copied_into_itself(
    run: Run,
    other: OtherServer,
    database: Database,
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    own = make_token(database, workspace, "administrator")
    monkeypatch.setenv("RELAYBOARD_SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("RELAYBOARD_MOVE_TOKEN", own)

    said = run("--from", other.url, *words, status=1)["err"]

    assert "the token is one of this workspace itself: give --from and a token of the old server" in said
    assert own not in said
    with database.reading() as tx:
        assert find_move(tx, workspace) is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_token_is_read_from_a_file_the_environment_or_the_file_of_settings(
    run: Run, other: OtherServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fill(other, 2, 2, 2)
    monkeypatch.delenv("RELAYBOARD_MOVE_TOKEN")
    assert "--token-file, or from RELAYBOARD_MOVE_TOKEN" in run("--from", other.url, status=1)["err"]
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    for mode, is_told in ((0o600, False), (0o644, True)):
        file.chmod(mode)
        said = run("--from", other.url, "--token-file", str(file))
        assert said["is_complete"]
        assert (f"others on this machine can read {file}" in said["err"]) is is_told

    (tmp_path / ".env").write_text(f"RELAYBOARD_MOVE_TOKEN={TOKEN}\n")
    assert run("--from", other.url)["is_complete"]
    monkeypatch.setenv("RELAYBOARD_MOVE_TOKEN", "another")
    assert "does not accept the token" in run("--from", other.url, status=1)["err"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("given", ["hunter2", "hunter2" * 99])
def test_a_secret_in_the_place_of_its_file_is_not_shown(run: Run, given: str) -> None:
    said = run("--from", "https://old.example.org", "--token-file", given, status=1)["err"]

    assert "that file is not there: give the name of one, or - for standard input" in said
    assert "hunter2" not in said
