import threading
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from relayboard.base.settings import load_settings
from relayboard.base.tracing import caused_by, causes, tracing
from testbed.patience import PATIENCE_SECONDS
from testbed.set_by_name import KEY
from tests.relayboard.test_traces import collecting
from worker.jobs import Job, JobPool
from worker.metrics import failures


@pytest.fixture
def runtime():
    return SimpleNamespace(stopping=threading.Event())


def pool_of(runtime, step, threads=1):
    return JobPool([Job("digging", lambda _: step, every_seconds=1, threads=threads)], runtime)


def in_thread(pool):
    thread = threading.Thread(target=pool.run, args=("digging",), daemon=True)
    thread.start()
    return thread


def test_work_goes_on_while_more_is_due(runtime):
    results = [True, True, False]
    pool_of(runtime, lambda: results.pop(0)).run("digging")

    assert results == []


def test_who_finds_a_kind_busy_has_it_look_once_more(runtime):
    begun, go_on, steps = threading.Event(), threading.Event(), []

    def step():
        steps.append(1)
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return False

    pool = pool_of(runtime, step)
    thread = in_thread(pool)
    assert begun.wait(PATIENCE_SECONDS)
    pool.run("digging")
    pool.run("digging")
    go_on.set()
    thread.join(PATIENCE_SECONDS)

    assert len(steps) == 2


def test_a_step_is_caused_by_who_asked_for_it_last(runtime):
    begun, go_on, seen = threading.Event(), threading.Event(), []

    def step():
        seen.append(causes())
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return len(seen) < 3

    pool = pool_of(runtime, step)
    thread = in_thread(pool)
    assert begun.wait(PATIENCE_SECONDS)
    with caused_by(("one",)):
        pool.run("digging")
    with caused_by(("two",)):
        pool.run("digging")
    go_on.set()
    thread.join(PATIENCE_SECONDS)

    assert seen == [(), ("one", "two"), ("one", "two")]


def test_steps_that_hardly_took_time_are_not_in_traces(runtime, monkeypatch):
    tried = 20
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with tracing(load_settings({**KEY, "RELAYBOARD_TRACES": "on"}), "worker"):
            pool_of(runtime, lambda: threading.Event().wait(0.02)).run("digging")
            for _ in range(tried):
                pool_of(runtime, bool).run("digging")

    assert 1 <= len(collector.named("job digging")) < tried, "a busy machine may keep one that found nothing waiting"


def test_as_many_threads_work_side_by_side_as_the_kind_allows(runtime):
    together = threading.Barrier(2, timeout=PATIENCE_SECONDS)
    pool = pool_of(runtime, lambda: together.wait() < 0, threads=2)
    threads = [in_thread(pool), in_thread(pool)]
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert not together.broken and not any(thread.is_alive() for thread in threads)


def test_an_error_is_told_and_does_not_block_the_kind(runtime):
    results = [False]

    def step():
        return results.pop()

    pool = pool_of(runtime, step)
    pool.run("digging")
    with pytest.raises(IndexError):
        pool.run("digging")
    results.append(False)
    pool.run("digging")

    assert results == []


def test_what_a_database_may_do_at_any_time_is_one_line_of_the_log_and_counted(runtime, caplog):
    results = [False]
    before = failures.labels("digging")._value.get()

    def step():
        if not results:
            cause = Exception("server closed the connection unexpectedly\n\tThis probably means it ended\n")
            raise OperationalError(None, None, cause, connection_invalidated=True)
        return results.pop()

    pool = pool_of(runtime, step)
    pool.run("digging")
    pool.run("digging")
    results.append(False)
    pool.run("digging")

    (line,) = caplog.records
    assert line.getMessage() == (
        "the job digging is tried again later: server closed the connection unexpectedly This probably means it ended"
    )
    assert (line.exc_info, results, failures.labels("digging")._value.get() - before) == (None, [], 1)


def test_nothing_more_is_begun_once_the_process_stops(runtime):
    steps = []

    def step():
        runtime.stopping.set()
        return steps.append(1) is None

    pool_of(runtime, step).run("digging")

    assert len(steps) == 1


def test_a_kind_that_this_version_does_not_know_is_left_to_others(runtime):
    assert pool_of(runtime, bool).run("flying") is None
