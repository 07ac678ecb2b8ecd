"""A move has one source, and what a record there is bound to comes with it, or it stands in the report."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from persistence.groups.groups import GROUPS
from persistence.move.moves import TRIGGER, find_move, list_notes
from persistence.tables.campaigns import trigger
from persistence.tables.channels import channel
from persistence.tables.data_jobs import workspace_move
from relayboard.cli import main
from relayboard.move.source import Source, SourceFailed
from tests.channel_rows import add_channel
from tests.relayboard.move.listing import listed
from tests.relayboard.move.other_server import TOKEN, OtherServer
from tests.relayboard.move.other_workspace import CHANNEL, FLOW, fill


def test_a_token_of_another_workspace_of_the_server_is_refused_before_the_first_record(moving: Any) -> None:
    fill(moving.other)
    moving.run()
    before = listed(moving, GROUPS)
    moving.other.workspace |= {"uuid": "11111111-45a8-40fd-b9bc-19015f4987a8", "name": "Another"}
    moving.other.lists["groups"].append({"uuid": "00000001-0000-4000-8000-000000000077", "name": "Theirs"})
    asked = len(moving.other.asked)

    with pytest.raises(SourceFailed, match="the token is one of the workspace Another"):
        moving.run()

    assert listed(moving, GROUPS) == before
    assert all("workspace" in path for path in moving.other.asked[asked:])


class TestTheCommand:
    @pytest.fixture(autouse=True)
    def _environment(self, monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
        monkeypatch.setenv("RELAYBOARD_MOVE_TOKEN", TOKEN)

    def run(self, moving: Any, *words: str) -> int:
        return main(["move", "--workspace", moving.workspace.uuid, *words])

    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_another_server_is_refused_and_the_first_goes_on(self, moving: Any, capsys: Any) -> None:
        fill(moving.other)
        with OtherServer().running() as another:
            assert self.run(moving, "--from", moving.other.url) == 0
            before = listed(moving, GROUPS)

            for words in ((), ("--verify",), ("--finish",), ("--status",)):
                assert self.run(moving, "--from", another.url, *words) == 1
                assert f"this workspace is moved from {moving.other.url}" in capsys.readouterr().err
            assert another.asked == []
        assert listed(moving, GROUPS) == before
        assert self.run(moving, "--from", moving.other.url + "/api/v2/") == 0

    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_the_same_server_written_differently_is_the_same(self, moving: Any, capsys: Any) -> None:
        fill(moving.other, people=1, messages=1, runs=2)
        port = moving.other.url.rpartition(":")[2]
        assert self.run(moving, "--from", moving.other.url + "/") == 0
        for same in (f"HTTP://127.0.0.1:{port}/api/v2", f"http://LOCALHOST.:{port}//"):
            assert self.run(moving, "--from", same) == 0, same
        with moving.database.reading() as tx:
            assert len(tx.execute(select(workspace_move.c.source)).all()) == 1

        moving.other.workspace |= {"uuid": "11111111-45a8-40fd-b9bc-19015f4987a8", "name": "Another"}
        assert self.run(moving, "--from", f"http://localhost:{port}") == 1
        assert "the token is one of the workspace Another" in capsys.readouterr().err
        for other in (f"http://127.0.0.1:{port}/elsewhere", f"https://127.0.0.1:{port}", "http://127.0.0.1:1"):
            assert self.run(moving, "--from", other) == 1, other
            assert "a move has one source" in capsys.readouterr().err

    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_an_address_that_nobody_answers_at_is_not_remembered(
        self, moving: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("relayboard.move.source.EARLY_ATTEMPTS", 1)
        fill(moving.other)
        assert self.run(moving, "--from", "http://127.0.0.1:1") == 1
        there, moving.other.workspace = moving.other.workspace, {"hello": "world"}
        assert self.run(moving, "--from", moving.other.url) == 1
        moving.other.workspace = there
        monkeypatch.setenv("RELAYBOARD_MOVE_TOKEN", "wrong")
        assert self.run(moving, "--from", moving.other.url) == 1
        with moving.database.reading() as tx:
            assert find_move(tx, moving.workspace) is None

        monkeypatch.setenv("RELAYBOARD_MOVE_TOKEN", TOKEN)
        assert self.run(moving, "--from", moving.other.url) == 0


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("https://sms.example.org:443/", "https://sms.example.org"),
        ("http://SMS.example.org.:80", "http://sms.example.org"),
        ("HTTPS://Sms.Example.Org/Tenant/api/v2/", "https://sms.example.org/Tenant"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("https://sms.example.org:8443", "https://sms.example.org:8443"),
    ],
)
def test_an_address_has_one_spelling(written: str, same: str) -> None:
    assert Source(written, "").url == same


def bind(other: OtherServer, *channels: dict[str, Any] | None, letter: str = "C") -> None:
    other.definitions[FLOW["uuid"]]["triggers"] = [
        {"trigger_type": letter, "flow": FLOW, "groups": [], "keywords": None, "channel": each} for each in channels
    ]


def triggers(moving: Any) -> list[tuple[str | None, bool]]:
    rows = select(channel.c.uuid, trigger.c.is_archived).select_from(trigger.outerjoin(channel))
    with moving.database.reading() as tx:
        return sorted((row.uuid or "", row.is_archived) for row in tx.execute(rows))


def notes(moving: Any) -> list[str]:
    with moving.database.reading() as tx:
        move = find_move(tx, moving.workspace)
        assert move is not None
        return [each.note or "" for each in list_notes(tx, move, TRIGGER, 9)]


def test_a_trigger_of_one_channel_is_none_of_all_and_is_archived_unless_its_channel_is_active_here(moving: Any) -> None:
    fill(moving.other)
    add_channel(moving.database, moving.workspace, uuid=CHANNEL["uuid"])
    second = {"uuid": "00000003-0000-4000-8000-000000000002", "name": "Second line"}
    moving.other.lists["channels"].append({**second, "address": "+250788000002", "country": "RW", "device": None})
    bind(moving.other, CHANNEL, None, second)

    moving.run()

    there = [("", False), (CHANNEL["uuid"], False), (second["uuid"], True)]
    assert triggers(moving) == there
    assert notes(moving) == ['Its channel "Second line" is not active here, so it is archived.']

    moving.run(reads_all=True)
    assert triggers(moving) == there, "a later pass repeats nothing"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_trigger_of_a_channel_that_nobody_knows_is_archived_too(moving: Any) -> None:
    fill(moving.other)
    bind(moving.other, {"uuid": "00000003-0000-4000-8000-000000000009", "name": "Long gone"})

    moving.run()

    assert triggers(moving) == [("", True)]
    (note,) = notes(moving)
    assert "Long gone" in note
