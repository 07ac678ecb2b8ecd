"""Senders give way to all others, and are woken at once."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.worker.test_senders import environment, real_database, start_worker, wait_for_children
from worker.fairness import NICENESS, WakeUpPipe, run_and_notify, wake_all

__all__ = ["environment", "real_database", "start_worker"]

LEAST_PRIORITY = 19


def test_a_sender_gives_way_to_all_others(start_worker):
    worker = start_worker("--senders", "1")
    jobs, sender = wait_for_children(worker.pid)[:2]
    own = os.getpriority(os.PRIO_PROCESS, 0)

    wait_until(
        lambda: os.getpriority(os.PRIO_PROCESS, sender) == min(own + NICENESS, LEAST_PRIORITY), "the sender to give way"
    )
    assert {os.getpriority(os.PRIO_PROCESS, other) for other in (jobs, worker.pid)} == {own}


@pytest.fixture
def pipe():
    made = WakeUpPipe(("sending", "webhooks"))
    yield made
    made.close()


def test_wake_ups_for_a_job_are_one(pipe):
    for _ in range(3):
        assert pipe.notify("webhooks")

    assert pipe.wait(PATIENCE_SECONDS) == {"webhooks": ()}
    assert pipe.wait(0) == {}


def test_a_wake_up_tells_what_caused_it_once(pipe, monkeypatch):
    first, second = (f"00-{digit * 32}-{digit * 16}-01" for digit in "ab")
    for causes in ((first,), (first, second), ()):
        monkeypatch.setattr("worker.fairness.carried", lambda causes=causes: causes)
        pipe.notify("sending")

    assert pipe.wait(PATIENCE_SECONDS) == {"sending": (first, second)}


def test_it_wakes_for_no_job_of_others(pipe):
    assert not pipe.notify("incoming")
    assert pipe.wait(0) == {}


def test_whoever_wakes_never_waits_for_those_who_do_not_read(pipe):
    for number in range(100_000):
        pipe.notify(("sending", "webhooks")[number % 2])

    assert set(pipe.wait(PATIENCE_SECONDS)) == {"sending", "webhooks"}


def test_each_job_runs_at_once_and_again_when_it_is_woken_or_its_time_has_come():
    # Its thread reads as long as the process lives, so its pipe is never closed: another would get the same numbers.
    pipe = WakeUpPipe(("sending", "webhooks"))
    run, changed = [], threading.Condition()

    def note(kind):
        with changed:
            run.append(kind)
            changed.notify_all()

    def wait_for(kind, count):
        with changed:
            return changed.wait_for(lambda: run.count(kind) >= count, PATIENCE_SECONDS)

    others = set(threading.enumerate())
    pipe.follow(note, {"sending": 3600.0, "webhooks": 0.01}, ThreadPoolExecutor(1))

    assert wait_for("sending", 1) and wait_for("webhooks", 3)
    assert run.count("sending") == 1
    assert [thread.daemon for thread in {*threading.enumerate()} - others if thread.name == "wake-ups"] == [True]
    pipe.notify("sending")
    assert wait_for("sending", 2)


def test_a_job_that_fails_or_goes_on_for_long_keeps_no_other_from_running():
    pipe = WakeUpPipe(("sending", "webhooks"))
    go_on, done = threading.Event(), threading.Event()

    def work(kind):
        if kind == "sending":
            assert go_on.wait(PATIENCE_SECONDS)
            raise ValueError
        done.set()

    pipe.follow(work, {"sending": 3600.0, "webhooks": 3600.0}, ThreadPoolExecutor(2))

    assert done.wait(PATIENCE_SECONDS), "while the other goes on"
    done.clear()
    go_on.set()
    pipe.notify("webhooks")
    assert done.wait(PATIENCE_SECONDS)


def test_once_its_threads_have_ended_nobody_follows_wake_ups():
    pipe = WakeUpPipe(("sending",))
    threads, run, before = ThreadPoolExecutor(1), [], threading.enumerate()
    threads.shutdown()
    pipe.follow(run.append, {"sending": 3600.0}, threads)
    following = [thread for thread in threading.enumerate() if thread.name == "wake-ups" and thread not in before]
    for thread in following:
        thread.join(PATIENCE_SECONDS)

    assert not any(thread.is_alive() for thread in following)
    assert run == []


def test_wake_ups_go_to_the_senders_of_this_worker_and_others_where_they_went_before(pipe):
    others = []

    wake_all(pipe, others.append, shared=())(frozenset({"sending", "incoming"}))
    wake_all(pipe, others.append, shared=())(frozenset({"webhooks"}))

    assert others == [frozenset({"incoming"})]
    assert set(pipe.wait(PATIENCE_SECONDS)) == {"sending", "webhooks"}


def test_wake_ups_of_shared_jobs_go_to_both_processes(pipe):
    others, run = [], []

    wake_all(pipe, others.append, shared=("sending",))(frozenset({"sending", "webhooks"}))
    run_and_notify(pipe, run.append)("webhooks")
    run_and_notify(pipe, run.append)("parked")

    assert others == [frozenset({"sending"})]
    assert run == ["webhooks", "parked"], "the process of jobs knows which of them are its own"
    assert set(pipe.wait(PATIENCE_SECONDS)) == {"sending", "webhooks"}


def test_what_takes_no_time_is_run_at_once_and_others_are_woken(pipe):
    run, others = [], []

    wake_all(pipe, others.append, ("sending", "incoming"), run.append, ("sending",))(frozenset({"sending", "incoming"}))

    assert (run, others) == (["sending"], [frozenset({"incoming"})])
    assert set(pipe.wait(PATIENCE_SECONDS)) == {"sending"}
