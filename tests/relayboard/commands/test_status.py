"""What `relayboard status` tells."""

import io
import json
import socket
import sys

import pytest
from rich.console import Console

from persistence.service.backlog import Backlog, ChannelQueue, Waiting
from persistence.service.diagnosis import list_heartbeats
from relayboard.base.version import program_version
from relayboard.cli import main
from relayboard.commands.status import duration_text, show
from testbed.running import forked_service, wait_until


def heartbeats(service):
    with service.database.reading() as tx:
        return list_heartbeats(tx)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_status_tells_of_a_living_worker_of_one_that_was_killed_and_of_what_waits(
    database_url, tmp_path, capsys, monkeypatch
):
    with forked_service(database_url, tmp_path, ("api", "worker", "worker two")) as service:
        wait_until(lambda: len(heartbeats(service)) == 2, "both workers to be seen")
        contact = service.post("/api/v2/contacts.json", {"name": "Amina", "urns": ["tel:+250788000111"]})
        pid = service.processes["worker"].pid
        service.kill("worker")
        assert service.stop("worker two") == 0
        for name in ("DATABASE_URL", "QUEUE_URL", "SECRET_KEY"):
            monkeypatch.setenv(f"RELAYBOARD_{name}", service.environment[f"RELAYBOARD_{name}"])
        flow = {"contacts": [contact["uuid"]], "text": "hello"}
        service.post("/api/v2/broadcasts.json", flow)

        assert main(["status"]) == 0

        status = json.loads(capsys.readouterr().out)
    (worker,) = status["workers"]
    assert (worker["pid"], worker["host"]) == (pid, socket.gethostname())
    assert worker["version"] == program_version()
    assert status["version"] == program_version()
    assert status["waiting"]["broadcasts"]["count"] == 1
    assert status["waiting"]["webhooks"] == {"count": 0, "oldest_seconds": 0.0}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_terminal_is_shown_tables_unless_json_is_asked_for(database_url, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
    monkeypatch.setenv("RELAYBOARD_SECRET_KEY", "a-key-that-only-tests-use")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert main(["status"]) == 0
    shown = capsys.readouterr().out
    assert main(["status", "--json"]) == 0

    assert "Workers" in shown and "{" not in shown
    assert json.loads(capsys.readouterr().out)["workers"] == []


def test_people_are_shown_tables():
    out = io.StringIO()
    backlog = Backlog(
        {"incoming": Waiting(10_000, 7_300.0), "calls": Waiting(0, 0.0)},
        [ChannelQueue("7a1b", "android", Waiting(3, 75.0))],
        contacts_waiting=12,
        expired_leases={"starts": 0, "sending": 2},
        phones=4,
        silent_phones=1,
    )

    show("0001", [], backlog, Console(file=out, width=120))

    lines = [" ".join(line.replace("│", " ").split()) for line in out.getvalue().splitlines()]
    assert f"Relayboard {program_version()}, schema 0001" in lines
    assert {"incoming 10000 or more 2 h", "calls 0", "7a1b (android) 3 1 min"} <= set(lines)
    assert "Phones: 4, silent for 30 minutes or more: 1" in lines
    assert "Work that somebody left lying: sending 2" in lines


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (7_199, "1 h"), (172_800, "2 d")]
)
def test_a_duration_is_told_in_its_largest_unit(seconds, text):
    assert duration_text(seconds) == text
