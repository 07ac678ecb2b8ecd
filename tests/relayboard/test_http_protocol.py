"""Slow and unusual clients on real sockets: none of them keeps a connection longer than documented."""

import asyncio
import os
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
import uvicorn

from relayboard import http_protocol
from relayboard.api_server import make_config
from relayboard.base.settings import Settings, load_settings
from relayboard.processes import listen
from testbed.databases import migrate
from testbed.forked import fork, run_api
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from testbed.set_by_name import by_name
from testbed.tokens import SECRET_KEY

SHORT_SECONDS = 0.3
HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
LARGE_BYTES = 8 * 1024 * 1024

Serve = Callable[..., AbstractContextManager[Callable[[], socket.socket]]]


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once, without a look at the body; `/large` with more than the network holds."""
    if scope["type"] != "http":
        return
    body = b"x" * LARGE_BYTES if scope["path"] == "/large" else b"ok"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def settings() -> Settings:
    made = load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"})
    return replace(made, head_timeout_seconds=PATIENCE_SECONDS, keep_alive_seconds=int(PATIENCE_SECONDS))


@pytest.fixture
def serve(settings: Settings) -> Serve:
    """A server with changed settings; calls of what it gives open connections to it."""

    @contextmanager
    def make(application: Any = app, **changes: Any) -> Iterator[Callable[[], socket.socket]]:
        config = make_config(application, replace(settings, **changes))
        config.lifespan = "off"
        server = uvicorn.Server(config)
        listener = listen("127.0.0.1", 0)
        address = listener.getsockname()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        opened: list[socket.socket] = []

        def connect() -> socket.socket:
            opened.append(socket.create_connection(address, timeout=PATIENCE_SECONDS))
            return opened[-1]

        try:
            wait_until(lambda: server.started, "the server")
            yield connect
        finally:
            for each in opened:
                each.close()
            server.should_exit = True
            thread.join()

    return make


def read_answer(client: socket.socket) -> bytes:
    """An answer with the body `ok`."""
    answer = b""
    while not answer.endswith(b"\r\n\r\nok"):
        piece = client.recv(4096)
        assert piece, f"closed after {answer!r}"
        answer += piece
    return answer


def read_to_end(client: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    answer = b""
    with suppress(ConnectionResetError):
        while piece := client.recv(65536):
            answer += piece
    return answer


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: loc", b"\r\n"])
def test_half_a_head_is_dropped_in_time(serve: Serve, begun: bytes) -> None:
    with serve(**by_name(HEAD_TIMEOUT_SECONDS=str(SHORT_SECONDS))) as connect:
        client = connect()
        client.sendall(begun)

        assert read_to_end(client) == b""


def test_a_head_that_trickles_is_dropped_all_the_same(serve: Serve) -> None:
    with serve(head_timeout_seconds=SHORT_SECONDS) as connect:
        client = connect()
        client.settimeout(SHORT_SECONDS / 20)
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")

        def is_dropped() -> bool:
            try:
                client.sendall(b"x")
                return client.recv(1) == b""
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        wait_until(is_dropped, "the end of the connection")


def test_the_head_of_a_later_request_has_the_same_time(serve: Serve) -> None:
    with serve(head_timeout_seconds=SHORT_SECONDS) as connect:
        client = connect()
        client.sendall(HEAD)
        read_answer(client)
        client.sendall(HEAD[:10])

        assert read_to_end(client) == b""


def test_an_idle_connection_is_closed_after_its_time(serve: Serve) -> None:
    with serve(**by_name(KEEP_ALIVE_SECONDS="1")) as connect:
        client = connect()
        client.sendall(HEAD)
        read_answer(client)

        assert read_to_end(client) == b""


def test_many_slow_clients_do_not_keep_others_from_their_answers(serve: Serve) -> None:
    with serve() as connect:
        slow = [connect() for _ in range(300)]
        for client in slow:
            client.sendall(HEAD[:20])
        client = connect()
        client.sendall(HEAD)

        assert read_answer(client).startswith(b"HTTP/1.1 200")


def test_beyond_the_most_connections_the_one_that_waited_longest_gives_its_place_up(serve: Serve) -> None:
    with serve(**by_name(MAX_CONNECTIONS="3")) as connect:
        first, second, third = connect(), connect(), connect()
        first.sendall(HEAD)
        read_answer(first)  # waits again only from now on
        fourth = connect()

        assert read_to_end(second) == b""
        for client in (first, third, fourth):
            client.sendall(HEAD)
            assert read_answer(client).startswith(b"HTTP/1.1 200")


def test_a_head_beyond_64_kilobytes_is_refused(serve: Serve) -> None:
    with serve() as connect:
        client = connect()
        with_much = threading.Thread(target=_send, args=(client, HEAD[:-2] + b"X: " + b"x" * 1_000_000))
        with_much.start()
        answer = read_to_end(client)
        with_much.join()

        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"])
def test_what_is_no_http_is_a_400_in_the_form_of_all_errors(serve: Serve, sent: bytes) -> None:
    with serve() as connect:
        client = connect()
        client.sendall(sent)
        answer = read_to_end(client)

        assert answer.startswith(b"HTTP/1.1 400")
        assert b'\r\n\r\n{"detail":"' in answer
        assert b"\r\ncache-control: no-store\r\n" in answer


def test_a_body_that_nobody_wants_may_still_come_so_that_its_client_sees_the_answer(serve: Serve) -> None:
    body = b"x" * LARGE_BYTES
    with serve() as connect:
        client = connect()
        client.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        first = read_answer(client)
        client.sendall(HEAD)

        assert first.startswith(b"HTTP/1.1 200")
        assert read_answer(client).startswith(b"HTTP/1.1 200")


def test_but_not_for_ever(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "LINGER_SECONDS", SHORT_SECONDS)
    with serve() as connect:
        client = connect()
        client.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx")

        assert read_to_end(client).endswith(b"ok")


def test_a_client_that_takes_nothing_of_its_answer_is_dropped(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "SEND_TIMEOUT_SECONDS", SHORT_SECONDS)
    lost = threading.Event()
    base = http_protocol.PatientProtocol.connection_lost

    def note(self: Any, error: Exception | None) -> None:
        base(self, error)
        lost.set()

    monkeypatch.setattr(http_protocol.PatientProtocol, "connection_lost", note)
    with serve() as connect:
        client = connect()
        client.sendall(HEAD.replace(b"/ ", b"/large ", 1))

        assert lost.wait(PATIENCE_SECONDS)
        assert len(read_to_end(client)) < LARGE_BYTES


@pytest.mark.parametrize(
    ("proxies", "seen"),
    [("127.0.0.0/8", "203.0.113.7 https"), ("10.0.0.0/8", "127.0.0.1 http"), ("none", "127.0.0.1 http")],
)
def test_only_trusted_proxies_say_who_the_client_is(serve: Serve, proxies: str, seen: str) -> None:
    async def tell(scope: Any, receive: Any, send: Any) -> None:
        body = f"{scope['client'][0]} {scope['scheme']}".encode()
        headers = [(b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    environment = {"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use", "RELAYBOARD_TRUSTED_PROXIES": proxies}
    with serve(tell, trusted_proxies=load_settings(environment).trusted_proxies) as connect:
        client = connect()
        client.sendall(HEAD[:-2] + b"X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n\r\n")

        assert read_to_end(client).endswith(b"\r\n\r\n" + seen.encode())


def _send(client: socket.socket, data: bytes) -> None:
    with suppress(ConnectionError):
        client.sendall(data)


class Written(asyncio.Transport):
    """Notes what is written together."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[bytes] = []

    def write(self, data: Any) -> None:
        self.packets.append(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.packets.append(b"".join(list_of_data))

    def close(self) -> None:
        self.packets.append(b"closed")

    def is_closing(self) -> bool:
        return b"closed" in self.packets


ANSWER_HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


def written(answer: Callable[[http_protocol.CorkedTransport], None]) -> list[bytes]:
    """What is written at once for an answer, each until the loop's next round."""

    async def scene() -> list[bytes]:
        transport = Written()
        answer(http_protocol.CorkedTransport(transport, asyncio.get_running_loop()))
        await asyncio.sleep(0)
        return transport.packets

    return asyncio.run(scene())


def test_the_head_travels_with_the_first_piece_of_the_body() -> None:
    def answer(answers: http_protocol.CorkedTransport) -> None:
        answers.write(ANSWER_HEAD)
        answers.write(b"one")
        answers.write(b"two")

    assert written(answer) == [ANSWER_HEAD + b"one", b"two"]


def test_a_head_without_a_body_is_sent_in_the_next_round() -> None:
    assert written(lambda answers: answers.write(ANSWER_HEAD)) == [ANSWER_HEAD]


def test_a_head_is_sent_before_the_connection_closes() -> None:
    def answer(answers: http_protocol.CorkedTransport) -> None:
        answers.write(ANSWER_HEAD)
        answers.close()

    assert written(answer) == [ANSWER_HEAD, b"closed"]


def test_an_empty_piece_sends_the_head() -> None:
    def answer(answers: http_protocol.CorkedTransport) -> None:
        answers.write(ANSWER_HEAD)
        answers.write(b"")

    assert written(answer) == [ANSWER_HEAD]


@pytest.mark.parametrize("place", ["one header", "many headers", "URL", "trailer"])
def test_a_head_beyond_the_limit_is_refused_however_it_arrives(serve: Serve, place: str) -> None:
    long = b"x" * 70_000
    many = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 700) for number in range(100))
    heads = {
        "one header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + long + b"\r\n\r\n",
        "many headers": b"GET / HTTP/1.1\r\nHost: localhost\r\n" + many + b"\r\n",
        "URL": b"GET /?" + long + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "trailer": b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: "
        + long
        + b"\r\n\r\n",
    }
    with serve() as connect:
        client = connect()
        client.sendall(heads[place])
        answer = b""
        with suppress(ConnectionResetError):
            while piece := client.recv(65536):
                answer += piece

    assert not answer.endswith(b"\r\n\r\nok") or place == "trailer"
    assert place == "trailer" or (answer.startswith(b"HTTP/1.1 400 ") and b"larger than 65536 bytes" in answer)


def test_idle_connections_beyond_the_limit_of_open_files_keep_nobody_out(tmp_path: Path) -> None:
    listener = listen("127.0.0.1", 0)
    address = listener.getsockname()
    url = f"sqlite:///{tmp_path / 'relayboard.db'}"
    migrate(url)
    environment = {
        **os.environ,
        "RELAYBOARD_DATABASE_URL": url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{tmp_path / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
    }
    log = tmp_path / "api.log"
    process = fork(run_api_with_few_files, listener, environment=environment, log=log)
    idle: list[socket.socket] = []
    try:
        for _ in range(400):
            idle.append(socket.create_connection(address, timeout=PATIENCE_SECONDS))
        answer = requests.get(f"http://127.0.0.1:{address[1]}/health/live", timeout=PATIENCE_SECONDS)
        assert answer.status_code == 200
    finally:
        process.kill()
        listener.close()
        for each in idle:
            each.close()
    assert "leaves room for 100 connections" in log.read_text()
    assert "connections are open, and 100 may be" in log.read_text()


def run_api_with_few_files(listener: socket.socket) -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
    return run_api(listener)
