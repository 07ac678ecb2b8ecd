"""Senders give way to all others, and still get something done on a machine that is always busy."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from persistence.deliveries.outbox import Ledger
from relayboard import cli
from testbed.forked import fork
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.worker.events import Sender
from tests.worker.receivers import receiving
from tests.worker.test_senders import children_of, environment, real_database, start_worker, wait_for_children
from worker import priority
from worker.priority import NICENESS, Bell, Priority, is_starving, ring_at_wake, ring_first, run_at_wake

__all__ = ["environment", "real_database", "start_worker"]

LEAST_PRIORITY = 19
BUSY = {0: 1, 10: 4, 15: 12}
"""How many busy processes leave a sender in the last place a hundredth of a processor, by the niceness from which on:
the system weighs such a sender 3, and a process of niceness 0, 10 and 19 weighs 1,024, 110 and 15."""


def policies_of(pid):
    return {os.sched_getscheduler(thread) for thread in threads_of(pid)}


def threads_of(pid):
    return [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]


def test_a_sender_gets_a_processor_when_nobody_else_wants_it(start_worker):
    worker = start_worker("--senders", "1")
    jobs, sender = wait_for_children(worker.pid)[:2]
    own = os.getpriority(os.PRIO_PROCESS, 0)

    wait_until(lambda: policies_of(sender) == {os.SCHED_IDLE} and len(threads_of(sender)) > 1, "the last place")
    assert os.getpriority(os.PRIO_PROCESS, sender) == min(own + NICENESS, LEAST_PRIORITY)
    for other in (jobs, worker.pid):
        assert policies_of(other) == {os.SCHED_OTHER}
        assert os.getpriority(os.PRIO_PROCESS, other) == own


def count_busy_processes():
    own = os.getpriority(os.PRIO_PROCESS, 0)
    return next(count for niceness, count in reversed(BUSY.items()) if own >= niceness)


def work_beside_busy_processes():
    """A worker whose first children always compute, in the same session: systems may divide processors by sessions."""
    for _ in range(count_busy_processes()):
        if not os.fork():
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            while True:
                pass
    return cli.main(["worker", "--senders", "1"])


@pytest.fixture
def start_starving_worker(environment):
    workers = []

    def start():
        workers.append(fork(work_beside_busy_processes, environment=environment))
        return workers[-1]

    yield start
    for worker in workers:
        worker.kill()
        worker.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_sender_that_starves_is_followed_by_one_with_a_share(real_database, start_starving_worker):
    own = os.getpriority(os.PRIO_PROCESS, 0)
    worker = start_starving_worker()
    with receiving() as receiver:
        events = Sender(real_database, receiver.url)
        children = wait_for_children(worker.pid, count_busy_processes() + 2)
        busy_processes, starving = children[: count_busy_processes()], children[-1]
        wait_until(lambda: policies_of(starving) == {os.SCHED_IDLE}, "the last place")
        for thread in threads_of(starving):
            os.sched_setaffinity(thread, {min(os.sched_getaffinity(0))})
        events.send(300)

        wait_until(lambda: children_of(worker.pid)[-1] != starving, "another sender")
        follower = children_of(worker.pid)[-1]
        wait_until(
            lambda: os.getpriority(os.PRIO_PROCESS, follower) >= min(own + NICENESS, LEAST_PRIORITY),
            "the follower to give way",
        )
        assert policies_of(follower) == {os.SCHED_OTHER}
        before = events.ledger().delivered
        wait_until(
            lambda: events.ledger().delivered >= min(before + 20, 300), "the follower to work beside the busy processes"
        )

        for busy in busy_processes:  # its small share of a processor would be all that it gets to the end
            os.kill(busy, signal.SIGKILL)
        assert events.wait_until_done() == Ledger(pending=0, delivered=300, failed=0)


def take_the_last_place_when_the_share_is_over():
    senders = Priority()
    senders.leave()
    place = senders.give_way()
    first = os.sched_getscheduler(0)
    priority.SHARED_SECONDS = 0
    senders.leave()
    ends = place.look()
    return 0 if (first, ends, os.sched_getscheduler(0)) == (os.SCHED_OTHER, False, os.SCHED_IDLE) else 1


def keep_the_share_where_nobody_knows_who_starves():
    priority.THREADS = Path("/nowhere")
    place = Priority().give_way()
    return 0 if not place.look() and os.sched_getscheduler(0) == os.SCHED_OTHER else 1


@pytest.mark.parametrize(
    "rule", [take_the_last_place_when_the_share_is_over, keep_the_share_where_nobody_knows_who_starves]
)
def test_senders(rule):
    assert fork(rule, environment={}).wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize(
    ("got", "waited", "starves"),
    [(0.0, 0.0, False), (0.0, 0.9, False), (0.02, 1.0, True), (0.2, 1.0, False), (0.1, 8.0, True), (0.0, 1.0, True)],
)
def test_who_wants_a_processor_and_hardly_gets_it_starves(got, waited, starves):
    assert is_starving(got, waited) is starves


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
        monkeypatch.setattr("worker.priority.carried", lambda causes=causes: causes)
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
