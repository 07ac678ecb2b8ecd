"""Many incomplete requests to a running service use no memory, and other requests are still served."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import requests

from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until

MEGABYTE = 1024 * 1024
UPLOAD_BYTES = 25 * MEGABYTE
ALLOWED_GROWTH_BYTES = 60 * MEGABYTE
WRITTEN_BYTES = UPLOAD_BYTES - 2 * MEGABYTE
"""What of a half upload is surely on the disk: a small last piece waits in the buffer of its file."""
PATH = "/api/v2/media.json"
FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n'
BEGUN = FORM + b"x" * (UPLOAD_BYTES - MEGABYTE)

Send = Callable[[bytes], socket.socket]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("service")
    url = f"sqlite:///{folder / 'relayboard.db'}"
    with forked_service(url, folder, MAX_WORKSPACE_UPLOADS="2", HEAD_TIMEOUT_SECONDS="2") as running:
        # The first request makes the application.
        requests.get(f"{running.url}/api/v2/labels.json", timeout=PATIENCE_SECONDS)
        yield running


@pytest.fixture
def send(service: RunningService) -> Iterator[Send]:
    """Opens a connection and sends something on it."""
    address = ("127.0.0.1", int(service.url.rpartition(":")[2]))
    with ExitStack() as closing:

        def open_and_send(data: bytes) -> socket.socket:
            client = closing.enter_context(socket.create_connection(address, timeout=PATIENCE_SECONDS))
            client.sendall(data)
            return client

        yield open_and_send


def half_upload(token: str | None) -> bytes:
    length = len(FORM) + UPLOAD_BYTES
    authorization = f"Authorization: Token {token}\r\n" if token else ""
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\n{authorization}"
        f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {length}\r\n\r\n"
    )
    return head.encode() + BEGUN


def memory_bytes(service: RunningService) -> int:
    """What the API process occupies."""
    pages = Path(f"/proc/{service.processes['api'].pid}/statm").read_text().split()[1]
    return int(pages) * 4096


@contextmanager
def little_growth(service: RunningService) -> Iterator[None]:
    before = memory_bytes(service)
    yield
    grown = memory_bytes(service) - before
    assert grown < ALLOWED_GROWTH_BYTES, f"grew by {grown // MEGABYTE} MB"


def received(service: RunningService) -> list[Path]:
    folder = service.folder / "media" / "received"
    return list(folder.iterdir()) if folder.exists() else []


def test_half_uploads_without_a_token_are_refused_unread(service: RunningService, send: Send) -> None:
    with little_growth(service):
        clients = [send(half_upload(None)) for _ in range(20)]
        answers = [client.recv(100) for client in clients]

    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 401"}
    assert received(service) == []


def test_half_uploads_with_a_token_go_to_the_disk_and_are_few(service: RunningService, send: Send) -> None:
    with little_growth(service):
        held = [send(half_upload(service.token)) for _ in range(2)]
        wait_until(lambda: [each.stat().st_size >= WRITTEN_BYTES for each in received(service)] == [True] * 2, "files")
        refused = [send(half_upload(service.token)) for _ in range(10)]
        answers = [client.recv(1000) for client in refused]

    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 429"}
    assert all(b"retry-after: 5\r\n" in answer.lower() for answer in answers)
    for client in held:
        client.close()
    wait_until(lambda: received(service) == [], "the end of the half files")
    assert upload(service).status_code == 201


def test_a_crowd_of_half_heads_keeps_nobody_from_the_answer_and_is_gone_in_time(
    service: RunningService, send: Send
) -> None:
    crowd = [send(b"GET /api/v2/labels.json HTTP/1.1\r\nHost: lo") for _ in range(300)]

    assert service.get("/api/v2/labels.json")["results"] == []
    assert {client.recv(100) for client in crowd} == {b""}


@pytest.mark.parametrize(
    "hosts", [[], ["a b"], ["sms.example.org", "evil.example.org"], ["sms.example.org", "sms.example.org"], ["a/b"]]
)
def test_a_request_names_its_host_once(send: Send, hosts: list[str]) -> None:
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    with send(f"GET /health/live HTTP/1.1\r\n{lines}\r\n".encode()).makefile("rb") as closing:
        answer = closing.read()

    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.endswith(b'{"detail":"The Host header is not valid."}')


def test_a_stored_address_is_where_the_service_listens_whatever_the_client_calls_it(service: RunningService) -> None:
    stored = upload(service, Host="evil.example.org").json()["url"]

    assert stored.startswith(f"{service.url}/media/")
    assert requests.get(stored, timeout=PATIENCE_SECONDS).content == b"small"


def upload(service: RunningService, **more: str) -> requests.Response:
    headers = {"Authorization": f"Token {service.token}", **more}
    files = {"file": ("a.png", b"small", "image/png")}
    return requests.post(service.url + PATH, files=files, headers=headers, timeout=PATIENCE_SECONDS)
