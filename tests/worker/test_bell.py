import threading

import pytest

from testbed.patience import PATIENCE_SECONDS
from worker.bell import Bell, ring_at_wake, ring_first


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

    bell.answer(note, {"sending": 3600.0, "webhooks": 0.01})

    assert wait_for("sending", 1) and wait_for("webhooks", 3)
    assert run.count("sending") == 1
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "bell"] == [True]
    bell.ring("sending")
    assert wait_for("sending", 2)


def test_wake_ups_go_to_the_senders_of_this_worker_and_others_where_they_went_before(bell):
    others = []

    ring_at_wake(bell, others.append)(frozenset({"sending", "incoming"}))
    ring_first(bell, others.append)("webhooks")
    ring_first(bell, others.append)("parked")

    assert others == [frozenset({"incoming"}), "parked"]
    assert set(bell.hear(PATIENCE_SECONDS)) == {"sending", "webhooks"}
