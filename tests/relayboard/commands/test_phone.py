"""`relayboard phone` against a running service: one action a call, its state in a file."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relayboard.cli import main
from testbed.running import RunningService, forked_service
from tests.worker.receivers import Reply, receiving

Act = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("service")
    with forked_service(f"sqlite:///{folder / 'relayboard.db'}", folder) as running:
        yield running


@pytest.fixture
def act(service: RunningService, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Act:
    """Run one action of a phone of this test's own; the last line it prints."""

    def run(*arguments: str) -> dict[str, Any]:
        place = ["--server", service.url, "--state", str(tmp_path / "phone.json")]
        assert main(["phone", *place, *arguments]) == 0
        shown: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
        return shown

    return run


@pytest.fixture
def claimed(service: RunningService, act: Act) -> Act:
    """The same for a phone that is claimed and knows it."""
    code = act("register")["claim_code"]
    service.post("/api/v1/relayers.json", {"claim_code": code, "phone": "+250788123123"})
    assert act("sync")["workspace_id"] == service.workspace.id
    return act


def test_registering_shows_the_code_to_claim_and_keeps_it(act: Act) -> None:
    shown = act("register")

    assert len(shown["claim_code"]) == 9
    assert act("show") == shown


def test_a_received_sms_and_a_call_reach_the_service(service: RunningService, claimed: Act) -> None:
    claimed("receive", "+250788000111", "Is it open on Monday?")
    queued = claimed("call", "mo_call", "+250788000111", "--seconds", "12")["queued"]
    left = claimed("sync")["queued"]

    texts = [message["text"] for message in service.get("/api/v1/messages.json", urn="tel:+250788000111")["results"]]
    durations = [call["duration"] for call in service.get("/api/v1/calls.json", phone="+250788000111")["results"]]
    assert (queued, left) == (2, 0)
    assert (texts, durations) == (["Is it open on Monday?"], [12])


def test_a_running_phone_sends_what_it_is_given_and_reports_it(service: RunningService, claimed: Act) -> None:
    claimed("receive", "+250788000222", "hello")
    claimed("sync")
    incoming = service.get("/api/v1/messages.json", urn="tel:+250788000222")["results"][0]
    sent = service.post("/api/v2/messages.json", {"contact": incoming["contact"], "text": "Yes, from 8 to 12."})

    shown = claimed("run", "--syncs", "1")

    assert shown["sent"] == [sent["id"]]
    assert service.get("/api/v1/messages.json", id=sent["id"])["results"][0]["status"] == "D"


def test_a_battery_level_and_a_reset_are_told(service: RunningService, claimed: Act) -> None:
    relayer = claimed("battery", "18", "--status", "CHA")["relayer_id"]
    claimed("sync")
    record = service.get("/api/v1/relayers.json", relayer=relayer)["results"][0]
    claimed("reset")

    shown = claimed("sync")

    assert (record["power_level"], record["power_status"]) == (18, "CHA")
    assert (shown["relayer_id"], shown["workspace_id"]) == (None, None)
    assert service.get("/api/v1/relayers.json", relayer=relayer)["results"] == []


def test_a_server_that_does_not_answer_is_an_error_and_the_phone_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "phone.json"

    status = main(["phone", "--server", "http://127.0.0.1:9", "--state", str(state), "register"])

    assert status == 1
    assert capsys.readouterr().err.startswith("relayboard: no reply from 127.0.0.1:9/")
    assert json.loads(state.read_text())["relayer_id"] is None


@pytest.mark.parametrize(
    ("server", "place", "reason"),
    [
        ("http://user:word@127.0.0.1:9", "127.0.0.1:9", "Connection refused"),
        ("ftp://sms.example.org", "sms.example.org", "this is not the URL of a server"),
        ("sms.example.org", "sms.example.org", "this is not the URL of a server"),
        ("http://[::1", "http://[::1", "this is not the URL of a server"),
    ],
)
def test_an_error_names_host_and_path_and_shows_no_signature(
    claimed: Act, tmp_path: Path, capsys: pytest.CaptureFixture[str], server: str, place: str, reason: str
) -> None:
    state = tmp_path / "phone.json"
    path = f"/relayers/relayer/sync/{json.loads(state.read_text())['relayer_id']}/"

    assert main(["phone", "--server", server, "--state", str(state), "sync"]) == 1
    assert capsys.readouterr().err == f"relayboard: no reply from {place}{path}: {reason}\n"

    assert main(["phone", "--server", server, "--state", str(state), "run", "--syncs", "1"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert shown == {"sync": 1, "error": f"{place}{path}: {reason}"}


def test_a_reply_that_is_not_json_is_no_reply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A web server that knows nothing of phones."""
    with receiving(lambda _request: Reply(200, b"<p>Welcome</p>")) as receiver:
        assert main(["phone", "--server", receiver.url, "--state", str(tmp_path / "phone.json"), "register"]) == 1

    assert capsys.readouterr().err.endswith("/relayers/relayer/register/: the reply is not JSON\n")
