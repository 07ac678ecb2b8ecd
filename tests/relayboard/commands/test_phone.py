"""`relayboard phone` against a running service: one action a call, its state in a file."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from handlers.relay.sync import sign
from relayboard.cli import main
from testbed.forked import fork
from testbed.running import RunningService, forked_service, wait_until
from tests.worker.receivers import Reply, receiving

Act = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("service")
    with forked_service(f"sqlite:///{folder / 'relayboard.db'}", folder) as running:
        yield running


@pytest.fixture
def pushing_service(database_url: str, tmp_path: Path) -> Iterator[RunningService]:
    """A service of its own, which may call phones of this machine."""
    with forked_service(database_url, tmp_path, WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8") as running:
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
def wire(service: RunningService, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Run one action; the lines that it shows of the wire."""

    def run(*arguments: str) -> list[str]:
        place = ["--server", service.url, "--state", str(tmp_path / "phone.json"), "--wire"]
        assert main(["phone", *place, *arguments]) == 0
        return capsys.readouterr().err.splitlines()

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


def test_a_pushed_phone_fetches_at_once_what_would_wait_for_its_next_sync(
    pushing_service: RunningService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = pushing_service
    place = ["phone", "--server", service.url, "--state", str(tmp_path / "phone.json")]
    main([*place, "register"])
    code = json.loads(capsys.readouterr().out.splitlines()[-1])["claim_code"]
    service.post("/api/v1/relayers.json", {"claim_code": code, "phone": "+250788123123"})
    words = [*place, "run", "--every", "600", "--push-port", "0"]
    log = tmp_path / "run.log"
    running = fork(main, words, environment=service.environment, log=log)
    try:
        wait_until(lambda: '"sync":1' in _read(log), "the first sync")
        person = service.post("/api/v2/contacts.json", {"name": "Amina", "urns": ["tel:+250788000222"]})
        service.post("/api/v2/messages.json", {"contact": person["uuid"], "text": "From 8 to 12."})
        wait_until(lambda: '"pushed":true' in _read(log), "a push")
        wait_until(lambda: service.get("/api/v1/messages.json", status="D")["results"] != [], "the message")
    finally:
        running.kill()
        running.wait()


def _read(log: Path) -> str:
    return log.read_text() if log.exists() else ""


def test_a_battery_level_and_a_reset_are_told(service: RunningService, claimed: Act) -> None:
    relayer = claimed("battery", "18", "--status", "CHA")["relayer_id"]
    claimed("sync")
    record = service.get("/api/v1/relayers.json", relayer=relayer)["results"][0]
    claimed("reset")

    shown = claimed("sync")

    assert (record["power_level"], record["power_status"]) == (18, "CHA")
    assert (shown["relayer_id"], shown["workspace_id"]) == (None, None)
    assert service.get("/api/v1/relayers.json", relayer=relayer)["results"] == []


def offer(service: RunningService, claimed: Act, number: str) -> int:
    """A message to somebody who wrote, which the phone has; its id."""
    claimed("receive", number, "hello")
    claimed("sync")
    (incoming,) = service.get("/api/v1/messages.json", urn=f"tel:{number}")["results"]
    sent = service.post("/api/v2/messages.json", {"contact": incoming["contact"], "text": "Yes, from 8 to 12."})
    assert [each["id"] for each in claimed("sync")["messages"]] == [sent["id"]]
    number_of_message: int = sent["id"]
    return number_of_message


@pytest.mark.parametrize(("kind", "status"), [("mt_sent", "S"), ("mt_dlvd", "D"), ("mt_fail", "F"), ("mt_error", "E")])
def test_every_fate_of_a_message_is_reported_by_its_name(
    service: RunningService, claimed: Act, kind: str, status: str
) -> None:
    message_id = offer(service, claimed, f"+2507880005{ord(status)}")

    claimed("report", kind, str(message_id))
    shown = claimed("sync")

    assert shown["queued"] == 0
    assert service.get("/api/v1/messages.json", id=message_id)["results"][0]["status"] == status
    assert [each["id"] for each in shown["messages"]] == [message_id]


def test_any_command_and_reports_about_messages_of_nobody_are_taken_over(claimed: Act) -> None:
    claimed("queue", '{"cmd": "signal", "dbm": -71, "p_id": 1}')
    assert claimed("report", "mt_fail", "2000000000")["queued"] == 2

    assert claimed("sync")["queued"] == 0


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"name": 1}', '{"cmd": 1}', '{"cmd": "x", "n": NaN}', '{"cmd": "\\ud800"}']
)
def test_what_is_no_command_is_not_queued(
    claimed: Act, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    place = ["--server", "http://127.0.0.1:9", "--state", str(tmp_path / "phone.json")]

    assert main(["phone", *place, "queue", text]) == 1
    assert claimed("show")["queued"] == 0


def test_what_a_phone_says_of_itself_is_told(service: RunningService, claimed: Act) -> None:
    claimed("battery", "80", "--status", "FUL", "--source", "WIR")
    claimed(*shlex.split("status --network LTE --device SM-A135F --os 14 --app-version 2.2.0"))
    relayer = claimed("sync")["relayer_id"]

    (record,) = service.get("/api/v1/relayers.json", relayer=relayer)["results"]
    assert (record["power_source"], record["power_status"], record["network_type"]) == ("WIR", "FUL", "LTE")


def test_the_wire_shows_what_is_signed_and_hides_the_secret(
    claimed: Act, wire: Callable[..., list[str]], tmp_path: Path
) -> None:
    claimed("receive", "+250788000111", "1/2 kg, café ☕")
    secret = json.loads((tmp_path / "phone.json").read_text())["secret"]

    lines = wire("sync")

    method, target = lines[0].removeprefix("> ").split(" ")
    body = next(line for line in lines if line.startswith('> {"cmds":')).removeprefix("> ")
    query = parse_qs(urlsplit(target).query)
    assert method == "POST" and "1\\/2 kg, café ☕" in body
    assert sign(secret, query["ts"][0], body.encode()) == query["signature"][0]
    assert lines[4].startswith("< 200 OK") and '"cmd":"ack"' in lines[-1]


def test_the_wire_masks_the_secret_of_a_registration(wire: Callable[..., list[str]], tmp_path: Path) -> None:
    said = "\n".join(wire("register"))

    kept = json.loads((tmp_path / "phone.json").read_text())
    assert kept["claim_code"] in said and '"relayer_secret":"********"' in said
    assert kept["secret"] not in said


@pytest.mark.parametrize(("seconds", "refused"), [("-890", None), ("890", None), ("-1000", 3), ("1000", 3)])
def test_a_phone_whose_clock_is_shifted_too_far_is_told_so(claimed: Act, seconds: str, refused: int | None) -> None:
    shown = claimed("--clock-offset", seconds, "sync")

    said = None if refused is None else "401, error_id 3: The clocks differ by more than fifteen minutes."
    assert shown["refused"] == said


def test_after_a_lost_answer_the_same_bytes_come_again_and_nothing_is_doubled(
    service: RunningService, claimed: Act, wire: Callable[..., list[str]]
) -> None:
    claimed("sync")  # the third answer that this phone gets
    claimed("receive", "+250788000666", "only once")
    claimed("call", "mt_miss", "+250788000666")

    lines = wire("--lose-replies", "2", "sync")

    requests = [line for line in lines if line.startswith("> ")]
    lost = [line for line in lines if line.startswith("< 200")]
    texts = [each["text"] for each in service.get("/api/v1/messages.json", urn="tel:+250788000666")["results"]]
    calls = service.get("/api/v1/calls.json", phone="+250788000666")["results"]
    assert len(requests) == 6 and requests[:3] == requests[3:]
    assert [line.endswith("(lost: --lose-replies)") for line in lost] == [True, False]
    assert (claimed("show")["queued"], texts, len(calls)) == (0, ["only once"], 1)


def test_a_phone_that_loses_every_answer_keeps_its_reports(
    service: RunningService, claimed: Act, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claimed("receive", "+250788000777", "only once")
    place = ["--server", service.url, "--state", str(tmp_path / "phone.json")]

    assert main(["phone", *place, "--lose-replies", "1", "sync"]) == 1
    assert capsys.readouterr().err.endswith(": the answer was lost, as --lose-replies asks for\n")
    assert claimed("show")["queued"] == 1
    assert claimed("sync")["queued"] == 0
    assert len(service.get("/api/v1/messages.json", urn="tel:+250788000777")["results"]) == 1


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
