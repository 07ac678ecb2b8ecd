"""Time limits of whole exchanges."""

import socket
import sys
import threading
from contextlib import closing
from types import SimpleNamespace

import pytest

from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from worker.http import deadlines
from worker.http.deadlines import Deadline, Watchdog


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
    monkeypatch.setattr(deadlines, "time", SimpleNamespace(monotonic=lambda: 100.0))
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
