"""Users and their accounts by command."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from persistence.accounts.accounts import Visitor, count_attempt, find_account, set_password
from persistence.accounts.sign_ins import Browser, create_sign_in
from persistence.database import Database
from persistence.media.store import FolderStore
from persistence.migrations import upgrade
from persistence.users import add_member, find_member
from persistence.workspace_files.reading import read_workspace
from persistence.workspace_files.writing import write_workspace
from persistence.workspaces.writes import create_workspace
from relayboard.base.settings import load_settings
from relayboard.cli import main
from testbed.databases import open_database
from testbed.tokens import KEYS
from tests.accounts import PASSWORD, QUICK
from tests.channel_rows import add_contact
from tests.ticket_rows import add_ticket

GRACE = "grace@example.org"


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Database:
    """The database of the commands, with an unproven account of Grace in the workspace Thieves."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
    database = open_database(database_url)
    with database.writing() as tx:
        thieves = create_workspace(tx, "Thieves")
        grace = add_member(tx, thieves.id, GRACE, "agent")
        set_password(tx, grace.id, QUICK.hash(PASSWORD), is_proven=False)
        create_sign_in(tx, grace.id, "invitation", Browser("192.0.2.1", "of the thief"), "key")
    return database


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Any, str]:
    """What a command prints, and what it says."""
    assert main(words) == 0
    printed, said = capsys.readouterr()
    return json.loads(printed), said


def test_who_creates_a_user_is_told_what_an_unproven_account_lost(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    with database.writing() as tx:
        clinic = create_workspace(tx, "Clinic")
    words = ("user", "create", "--workspace", clinic.uuid, "--email", GRACE.title(), "--role", "editor")

    first, said = run(capsys, *words)
    again, silent = run(capsys, *words)

    assert first["ended"] == {"password": True, "two_factor": False, "sessions": 1, "tokens": 0}
    assert f"Nobody had proved {GRACE}" in said
    assert ("ended" in again, silent) == (False, "")


def test_a_password_of_an_operator_proves_the_account_and_forgets_what_was_counted(
    database: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, thief = load_settings(), Visitor(GRACE, "192.0.2.1")
    with database.writing() as tx:
        for _ in range(settings.sign_in_limit.requests + 1):
            count_attempt(tx, settings, thief)
    monkeypatch.setattr("sys.stdin", io.StringIO("a sentence of the operator\n"))

    printed, said = run(capsys, "user", "password", "--email", GRACE)

    assert (printed, "Nobody had proved" in said) == ({"changed": GRACE, "sessions_ended": 1}, True)
    with database.writing() as tx:
        found = find_account(tx, GRACE)
        assert found is not None and not found.is_unproven
        assert count_attempt(tx, settings, thief).is_granted


def test_a_workspace_that_is_imported_does_not_open_to_an_unproven_account_and_strands_no_ticket(
    database: Database, tmp_path: Path
) -> None:
    """Grace is an agent of the workspace in the file, and a ticket there is with somebody who may not act on it."""
    source = open_database(f"sqlite:///{tmp_path / 'source.db'}")
    upgrade(source.engine)
    store = FolderStore(f"file://{tmp_path / 'media'}")
    with source.writing() as tx:
        clinic = create_workspace(tx, "Clinic")
        add_member(tx, clinic.id, GRACE, "agent")
        add_member(tx, clinic.id, "joel@example.org", "viewer")
        joel = find_member(tx, clinic.id, "joel@example.org")
    uuid = add_ticket(source, clinic, add_contact(source, clinic), assignee_id=joel)
    write_workspace(source, KEYS, store, clinic, tmp_path / "w.zip", "")
    source.close()

    _, counts, ended = read_workspace(database, store, tmp_path / "w.zip", "")

    with database.reading() as tx:
        found = find_account(tx, GRACE)
        assigned = tx.connection.exec_driver_sql(f"SELECT assignee_id FROM ticket WHERE uuid = '{uuid}'").scalar_one()
    assert (counts["ticket"], ended, assigned) == (1, [GRACE], None)
    assert found is not None and found.password_hash is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_session_is_ended_by_its_uuid_and_of_a_named_user_only_if_it_is_theirs(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    with database.writing() as tx:
        grace, ann = (
            find_account(tx, GRACE),
            add_member(tx, create_workspace(tx, "Clinic").id, "ann@example.org", "agent"),
        )
        assert grace is not None
        create_sign_in(tx, ann.id, "password", Browser("192.0.2.2", "of Ann"), "key")
        create_sign_in(tx, grace.user_id, "password", Browser("192.0.2.3", "of Grace"), "key")
    uuid, _ = [each["uuid"] for each in run(capsys, "session", "list", "--email", GRACE)[0]]

    for words in (["--email", "ann@example.org", uuid], [uuid.replace(uuid[:8], "0" * 8)], ["nonsense"], []):
        assert main(["session", "end", *words]) != 0
        capsys.readouterr()
    assert run(capsys, "session", "end", uuid.upper())[0] == {"ended": 1}
    assert main(["session", "end", uuid]) != 0
    capsys.readouterr()
    assert run(capsys, "session", "end", "--email", GRACE)[0] == {"ended": 1}
    assert len(run(capsys, "session", "list", "--email", "ann@example.org")[0]) == 1
