import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from testbed.patience import PATIENCE_SECONDS
from worker.bell import Bell, ring_at_wake, ring_first, run_at_wake


@pytest.fixture
def bell():
    made = Bell(("sending", "webhooks"))
    yield made
    made.close()


def test_rings_for_a_job_are_one_wake_up(bell):
    for _ in range(3):
        assert bell.ring("webhooks")

    assert bell.hear(PATIENCE_SECONDS) == {"webhooks": ()}
    assert bell.hear(0) == {}


def test_a_ring_tells_what_caused_it_once(bell, monkeypatch):
    first, second = (f"00-{digit * 32}-{digit * 16}-01" for digit in "ab")
    for causes in ((first,), (first, second), ()):
        monkeypatch.setattr("worker.bell.carried", lambda causes=causes: causes)
        bell.ring("sending")

    assert bell.hear(PATIENCE_SECONDS) == {"sending": (first, second)}


def test_it_rings_for_no_job_of_others(bell):
    assert not bell.ring("incoming")
    assert bell.hear(0) == {}


def test_whoever_rings_never_waits_for_those_who_do_not_hear(bell):
    for number in range(100_000):
        bell.ring(("sending", "webhooks")[number % 2])

    assert set(bell.hear(PATIENCE_SECONDS)) == {"sending", "webhooks"}


def test_each_job_runs_at_once_and_again_when_it_rings_or_its_time_has_come():
    # Its thread hears as long as the process lives, so its pipe is never closed: another would get the same numbers.
    bell = Bell(("sending", "webhooks"))
    run, changed = [], threading.Condition()

    def note(kind):
        with changed:
            run.append(kind)
            changed.notify_all()

    def wait_for(kind, count):
        with changed:
            return changed.wait_for(lambda: run.count(kind) >= count, PATIENCE_SECONDS)

    others = set(threading.enumerate())
    bell.answer(note, {"sending": 3600.0, "webhooks": 0.01}, ThreadPoolExecutor(1))

    assert wait_for("sending", 1) and wait_for("webhooks", 3)
    assert run.count("sending") == 1
    assert [thread.daemon for thread in {*threading.enumerate()} - others if thread.name == "bell"] == [True]
    bell.ring("sending")
    assert wait_for("sending", 2)


def test_a_job_that_fails_or_goes_on_for_long_keeps_no_other_from_running():
    bell = Bell(("sending", "webhooks"))
    go_on, done = threading.Event(), threading.Event()

    def work(kind):
        if kind == "sending":
            assert go_on.wait(PATIENCE_SECONDS)
            raise ValueError
        done.set()

    bell.answer(work, {"sending": 3600.0, "webhooks": 3600.0}, ThreadPoolExecutor(2))

    assert done.wait(PATIENCE_SECONDS), "while the other goes on"
    done.clear()
    go_on.set()
    bell.ring("webhooks")
    assert done.wait(PATIENCE_SECONDS)


def test_once_its_threads_have_ended_nobody_answers_a_bell():
    bell = Bell(("sending",))
    threads, run, before = ThreadPoolExecutor(1), [], threading.enumerate()
    threads.shutdown()
    bell.answer(run.append, {"sending": 3600.0}, threads)
    answering = [thread for thread in threading.enumerate() if thread.name == "bell" and thread not in before]
    for thread in answering:
        thread.join(PATIENCE_SECONDS)

    assert not any(thread.is_alive() for thread in answering)
    assert run == []


def test_wake_ups_go_to_the_senders_of_this_worker_and_others_where_they_went_before(bell):
    others = []

    ring_at_wake(bell, others.append, shared=())(frozenset({"sending", "incoming"}))
    ring_at_wake(bell, others.append, shared=())(frozenset({"webhooks"}))

    assert others == [frozenset({"incoming"})]
    assert set(bell.hear(PATIENCE_SECONDS)) == {"sending", "webhooks"}


def test_wake_ups_of_shared_jobs_go_to_both_processes(bell):
    others, run = [], []

    ring_at_wake(bell, others.append, shared=("sending",))(frozenset({"sending", "webhooks"}))
    ring_first(bell, run.append)("webhooks")
    ring_first(bell, run.append)("parked")

    assert others == [frozenset({"sending"})]
    assert run == ["webhooks", "parked"], "the process of jobs knows which of them are its own"
    assert set(bell.hear(PATIENCE_SECONDS)) == {"sending", "webhooks"}


def test_what_takes_no_time_is_run_at_once_and_others_are_woken():
    run, woken = [], []

    wake = run_at_wake(("sending", "webhooks"), run.append, woken.append)
    wake(frozenset({"sending", "incoming"}))
    wake(frozenset({"webhooks"}))

    assert (run, woken) == (["sending", "webhooks"], [frozenset({"incoming"})])
