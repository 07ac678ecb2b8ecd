"""`/api/v2/stream` over a real server, as the guide shows it."""

import json
import re
import subprocess
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from handlers.v2.deletions import LISTED_BY
from handlers.v2.stream import kinds_of
from persistence.tokens import Credentials
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service
from tests.documentation import ROOT, read_blocks
from tests.factories import make_contact, make_messages

GUIDE = ROOT / "docs" / "live.md"
STREAM, CONVERSATIONS = "/api/v2/stream", "/api/v2/conversations.json"
MOST_BYTES = 512
"""What a message may cost who has the inbox open, on the line."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("stream")
    with forked_service(f"sqlite:///{folder / 'relayboard.db'}", folder, processes=("api",)) as running:
        yield running


def curl_of_the_guide() -> list[str]:
    (block,) = (block for block in read_blocks(GUIDE) if block.text.startswith("curl -sN"))
    return re.findall(r"'[^']*'|\S+", block.text)


def test_the_command_of_the_guide_follows_a_message(service: RunningService) -> None:
    words = [word.strip("'") for word in curl_of_the_guide()]
    words = [word.replace("TOKEN", service.token).replace("http://127.0.0.1:8080", service.url) for word in words]
    uuid = make_contact(service.database, service.workspace, "+250788000111")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as curl:
        ends = threading.Timer(PATIENCE_SECONDS, curl.kill)
        ends.start()
        assert curl.stdout is not None
        seen = []
        for line in curl.stdout:
            seen.append(line.rstrip("\n"))
            if line.startswith("event: ready"):
                service.post("/api/v2/messages.json", {"contact": uuid, "text": "Is the clinic open?"})
            if "Is the clinic open?" in line:
                break
        curl.kill()
        ends.cancel()

    assert seen[0] == "retry: 2000" and "event: message" in seen, seen


def test_a_stream_holds_up_neither_requests_nor_the_end_of_the_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'relayboard.db'}"
    with forked_service(url, tmp_path, processes=("api",), MAX_WORKSPACE_STREAMS="2") as running:
        headers = {"Authorization": f"Token {running.token}"}
        streams = [
            requests.get(running.url + STREAM, headers=headers, stream=True, timeout=PATIENCE_SECONDS) for _ in range(2)
        ]
        lines = [stream.iter_lines() for stream in streams]
        assert [next(each) for each in lines] == [b"retry: 2000"] * 2
        refused = requests.get(running.url + STREAM, headers=headers, timeout=PATIENCE_SECONDS)
        assert refused.status_code == 429 and "streams" in refused.json()["detail"]
        assert running.get("/api/v2/workspace.json")["uuid"]

        assert running.stop("api") == 0
        assert [b"event: ready" in list(each) for each in lines] == [True, True]


def test_a_message_and_the_row_of_its_conversation_take_half_a_kilobyte(service: RunningService) -> None:
    headers = {"Authorization": f"Token {service.token}", "Accept-Encoding": "gzip"}
    stream = requests.get(service.url + STREAM, headers=headers, stream=True, timeout=PATIENCE_SECONDS)
    pieces, unpacker = stream.raw.stream(decode_content=False), zlib.decompressobj(zlib.MAX_WBITS + 16)
    sizes = []

    def read_until(words: str) -> tuple[str, int]:
        seen, size = "", 0
        while not re.search(words, seen):
            piece = next(pieces)
            seen, size = seen + unpacker.decompress(piece).decode(), size + len(piece)
        return seen, size

    read_until("event: ready")
    for turn in range(3):
        uuid = make_contact(service.database, service.workspace, f"+25078800020{turn}", name=f"Person {turn}")
        text = f"{turn} people wait for medicine at the clinic by the lake, which opens on Monday at eight o'clock."
        make_messages(service.database, service.workspace, uuid, text=text)
        seen, size = read_until("event: row\n.*\n\n")
        told = dict(re.findall("event: (message|row)\ndata: (.*)\n", seen))
        message, row = json.loads(told["message"]), json.loads(told["row"])
        (listed,) = service.get(CONVERSATIONS, contact=uuid)["results"]
        assert {**row, "contact": message["contact"], "last_message": message} == listed and message["text"] == text
        sizes.append(size)

    stream.close()
    assert stream.headers["Content-Encoding"] == "gzip"
    assert all(size <= MOST_BYTES for size in sizes[1:]), sizes


def test_a_role_gets_the_events_of_what_it_may_list(service: RunningService) -> None:
    def kinds(role: str, areas: tuple[str, ...] | None = None) -> tuple[list[str], list[str]]:
        found = kinds_of(Credentials(1, service.workspace, 1, "a@example.org", role, "read", areas=areas))
        gone = [each.removeprefix("deletion of ") for each in found if each.startswith("deletion")]
        return sorted(each for each in found if not each.startswith("deletion")), sorted(gone)

    assert kinds("agent") == (
        ["contact", "conversation", "message", "participant of contact", "row", "ticket"],
        ["contact", "contact_note", "field", "group", "saved_reply", "ticket"],
    )
    shown, gone = kinds("administrator")
    there = ["participant of contact", "participant of flow"]
    assert shown == sorted(
        [*there, "broadcast", "channel", "contact", "conversation", "flow_start", "message", "row", "run", "ticket"]
    )
    assert gone == sorted(LISTED_BY)
    assert kinds("administrator", ("tickets",)) == (["ticket"], ["ticket"])


def test_an_id_has_a_length(service: RunningService) -> None:
    headers = {"Authorization": f"Token {service.token}", "Last-Event-ID": "x" * 65}
    assert requests.get(service.url + STREAM, headers=headers, timeout=PATIENCE_SECONDS).status_code == 400


def test_a_stream_needs_a_token(service: RunningService) -> None:
    assert requests.get(service.url + STREAM, timeout=PATIENCE_SECONDS).status_code == 401
