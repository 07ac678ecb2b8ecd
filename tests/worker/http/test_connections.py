"""Connections that are kept for the next request.

Time limits of whole exchanges.

A thread with an event loop.
"""

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from ipaddress import ip_network
from types import SimpleNamespace

import pytest

from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.worker.receivers import Reply, receiving
from worker.http import connections
from worker.http.connections import Deadline, KeptConnections, LoopThread, SendFailed, Watchdog
from worker.http.safe_http import SafeHttp

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
def door() -> Iterator[SafeHttp]:
    made = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=PATIENCE_SECONDS)
    yield made
    made.close()


class Lines:
    """A receiver whose connections are in the hand of the test."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(PATIENCE_SECONDS)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"

    def accept(self) -> socket.socket:
        line, _ = self._listening.accept()
        line.settimeout(PATIENCE_SECONDS)
        return line

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def lines() -> Iterator[Lines]:
    made = Lines()
    yield made
    made.close()


@contextmanager
def calling(door: SafeHttp, url: str) -> Iterator[list[object]]:
    """A call in another thread; what came of it, once the block has ended."""
    results: list[object] = []

    def call() -> None:
        try:
            results.append(door.post(url, b"x", {}).body)
        except SendFailed as error:
            results.append(error.kind)

    thread = threading.Thread(target=call)
    thread.start()
    yield results
    thread.join(PATIENCE_SECONDS)


def answer(line: socket.socket, raw: bytes = ANSWER) -> None:
    line.recv(65536)
    line.sendall(raw)


def test_after_a_receiver_ended_an_idle_connection_another_one_is_opened(door, lines):
    for _ in range(2):
        with calling(door, lines.url) as results, lines.accept() as line:
            answer(line)
        assert results == [b"ok"]


def test_a_response_that_came_while_this_process_was_frozen_counts(lines):
    """Otherwise who was frozen says that the gateway did not answer, and sends the message again."""
    door = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=0.5)
    frozen, has_answered = threading.Event(), threading.Event()

    async def freeze():
        # Its loop finds nothing, and then the time is over and the response there before it looks again.
        def stand_still():
            frozen.set()
            has_answered.wait(PATIENCE_SECONDS)

        asyncio.get_running_loop().call_later(0, stand_still)
        time.sleep(0.7)

    with calling(door, lines.url) as results, lines.accept() as line:
        line.recv(65536)
        door.begin([freeze()])
        assert frozen.wait(PATIENCE_SECONDS)
        line.sendall(ANSWER)
        has_answered.set()
    door.close()

    assert results == [b"ok"]


def test_a_request_is_not_written_by_who_was_frozen_until_its_time_was_over(lines):
    """Nobody would wait for its response, and it would be sent again."""
    door = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=0.5)

    async def ask():
        return lambda: time.sleep(0.7)

    with pytest.raises(SendFailed) as caught:
        door.send("POST", lines.url, headers={}, body=b"x", before_writing=ask)
    door.close()

    with lines.accept() as line:
        assert (caught.value.kind, line.recv(65536)) == ("timeout", b"")


def test_a_connection_on_which_more_was_said_than_asked_for_is_not_used_again(door, lines):
    with calling(door, lines.url) as results:
        first = lines.accept()
        answer(first)
    first.sendall(ANSWER.replace(b"ok", b"no"))
    assert first.recv(1) == b"", "it is ended, and nothing more is sent on it"
    first.close()

    with calling(door, lines.url) as later, lines.accept() as second:
        answer(second)
    assert (results, later) == ([b"ok"], [b"ok"])


def test_a_response_before_the_whole_request_was_sent_counts_and_ends_the_connection(door, lines):
    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(door.post, lines.url, b"x" * 20_000_000, {})
        line = lines.accept()
        answer(line, b"HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n")
        assert call.result(PATIENCE_SECONDS).status == 413
        with pytest.raises(ConnectionError):
            line.sendall(b"x" * 20_000_000)
        line.close()


def test_closing_waits_for_no_call_and_breaks_none(door, lines):
    with calling(door, lines.url) as results, lines.accept() as line:
        line.recv(65536)
        door.close()
        line.sendall(ANSWER)
        assert line.recv(1) == b"", "it is not kept"
    assert results == [b"ok"]


def test_connections_of_concurrent_calls_are_used_again_the_last_one_first(door):
    barrier = threading.Barrier(3)
    ports = []

    def respond(request):
        if request.body == b"x":
            barrier.wait(PATIENCE_SECONDS)
        return Reply()

    asked = []
    door.resolve = lambda host, port: asked.append(port) or ["127.0.0.1"]
    with receiving(respond) as receiver:
        for _ in range(2):
            with calling(door, receiver.url), calling(door, receiver.url), calling(door, receiver.url):
                ports.append(len(asked))
        door.post(receiver.url, b"", {})
    assert len(asked) == 3


class Idle:
    """Stands in for a connection."""

    def __init__(self, *, can_be_used: bool = True) -> None:
        self.can_be_used = can_be_used
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


ORIGIN = (False, "a", 80)


def test_the_connection_that_was_used_last_is_taken_first_and_those_that_have_ended_are_not():
    kept, first, ended, last = KeptConnections(), Idle(), Idle(can_be_used=False), Idle()
    for each in (first, ended, last):
        kept.keep(ORIGIN, each)

    assert [kept.take(ORIGIN) for _ in range(3)] == [last, first, None]
    assert [each.is_closed for each in (first, ended, last)] == [False, True, False]
    assert kept.take((True, "a", 80)) is None


def test_only_those_of_the_hosts_that_were_called_last_are_kept(monkeypatch):
    monkeypatch.setattr(connections, "HOSTS_KEPT", 2)
    kept, made = KeptConnections(), [Idle() for _ in range(4)]
    for host, each in zip("abac", made, strict=True):
        kept.keep((False, host, 80), each)

    assert [each.is_closed for each in made] == [False, True, False, False]
    assert kept.take((False, "b", 80)) is None


def test_after_the_end_none_is_kept():
    kept, before, after = KeptConnections(), Idle(), Idle()
    kept.keep(ORIGIN, before)
    kept.close()
    kept.keep(ORIGIN, after)
    kept.forget(before)

    assert before.is_closed and after.is_closed
    assert kept.take(ORIGIN) is None


@pytest.fixture
def pair():
    """Two ends of a connection; who reads waits for a long time."""
    here, there = socket.socketpair()
    with closing(here), closing(there):
        here.settimeout(PATIENCE_SECONDS)
        yield here


def test_a_socket_is_shut_down_when_its_time_is_over(pair):
    with Deadline(Watchdog(), 0.01) as deadline:
        deadline.watch(pair)
        assert pair.recv(1) == b""

    assert deadline.has_expired and deadline.seconds_left == 0


def test_a_socket_that_comes_too_late_is_shut_down_at_once(pair):
    deadline = Deadline(Watchdog(), 0.01)
    deadline.expire()
    deadline.watch(pair)

    assert pair.recv(1) == b""


def test_a_deadline_without_a_socket_expires_all_the_same():
    deadline = Deadline(Watchdog(), 60)
    deadline.expire()

    assert deadline.has_expired and 59 < deadline.seconds_left <= 60


def is_in(thread: threading.Thread | None, function: str) -> bool:
    frame = sys._current_frames().get((thread and thread.ident) or 0)
    return frame is not None and frame.f_code.co_name == function


def test_a_later_deadline_does_not_keep_a_sooner_one_waiting(pair):
    watchdog = Watchdog()
    with Deadline(watchdog, 3600), Deadline(watchdog, 7200):
        wait_until(lambda: is_in(watchdog._thread, "wait"), "the thread to wait for the first of them")
        with Deadline(watchdog, 0.01) as soon:
            soon.watch(pair)
            assert pair.recv(1) == b""

    assert watchdog._thread.daemon


def test_time_is_over_at_the_moment_when_it_ends(pair, monkeypatch):
    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=lambda: 100.0))
    deadline = Deadline(Watchdog(), 0)
    deadline.watch(pair)

    with deadline:
        assert pair.recv(1) == b""


def test_an_exchange_that_ended_in_time_keeps_its_socket(pair):
    deadline = Deadline(Watchdog(), 60)
    with deadline:
        deadline.watch(pair)
    deadline.expire()

    assert not deadline.has_expired
    pair.send(b"still open")


def test_work_is_done_at_a_time_and_its_end_is_told() -> None:
    thread = LoopThread("loop", at_end=lambda: None)
    meeting = asyncio.Event()

    async def wait() -> str:
        await meeting.wait()
        return threading.current_thread().name

    async def come() -> None:
        meeting.set()

    waiting = thread.ask(wait())
    thread.begin([come()])
    assert waiting.result(PATIENCE_SECONDS) == "loop"
    thread.end()


def test_an_error_is_told_to_whoever_asked() -> None:
    thread = LoopThread("loop", at_end=lambda: None)

    async def fail() -> None:
        raise KeyError("it")

    with pytest.raises(KeyError):
        thread.ask(fail()).result(PATIENCE_SECONDS)
    thread.end()


def test_it_ends_with_the_work_that_was_begun_and_says_so_before() -> None:
    told = threading.Event()
    thread = LoopThread("loop", at_end=told.set)
    meeting = asyncio.Event()

    async def wait() -> str:
        await meeting.wait()
        return "done"

    waiting = thread.ask(wait())
    thread.end()
    assert told.wait(PATIENCE_SECONDS) and thread.is_alive

    async def come() -> None:
        meeting.set()

    thread.begin([come()])
    assert waiting.result(PATIENCE_SECONDS) == "done"
    wait_until(lambda: not thread.is_alive, "the thread to end")
