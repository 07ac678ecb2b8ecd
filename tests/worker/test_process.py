"""The heartbeats of a worker."""

import os
import resource
import signal
import socket
import sys
import threading
from dataclasses import replace

import pytest

from persistence.database import Database
from persistence.deliveries.outbox import Ledger
from persistence.service.diagnosis import list_heartbeats
from relayboard.base.settings import load_settings
from relayboard.base.version import program_version
from testbed.forked import fork, run_worker
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.worker.events import Sender
from tests.worker.receivers import Reply, receiving
from worker import process as worker_process
from worker.app import make_wake
from worker.fairness import WakeUpPipe
from worker.jobs import BEHIND, JOBS, Job
from worker.process import OPEN_FILES, beating, run_sender_process, run_worker_process, wait_for_signals

UNLIMITED = resource.RLIM_INFINITY


@pytest.fixture
def environment(database_url, tmp_path):
    return {
        **os.environ,
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{tmp_path / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": "a-key-for-tests-only",
        "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "RELAYBOARD_WEBHOOK_RETRY_DELAYS_SECONDS": "0.05,0.05,0.05",
        "RELAYBOARD_WEBHOOK_TIMEOUT_SECONDS": "5",  # a killed worker's calls are free again after twice that
    }


@pytest.fixture
def fork_worker(environment):
    """Starts real worker processes; those that still run are killed with the test."""
    forked = []

    def start(main=run_worker):
        forked.append(fork(main, environment=environment))
        return forked[-1]

    yield start
    for process in forked:
        process.kill()
        process.wait()


@pytest.fixture
def real_database(database_url):
    """The database under the real clock."""
    database = Database(database_url)
    yield database
    database.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_calls_under_way_end_and_be_recorded(real_database, fork_worker, number):
    begun, go_on = threading.Event(), threading.Event()

    def respond(request):
        begun.set()
        return Reply(200 if go_on.wait(PATIENCE_SECONDS) else 500)

    with receiving(respond) as receiver:
        sender = Sender(real_database, receiver.url)
        sender.send(1)
        process = fork_worker()
        assert begun.wait(PATIENCE_SECONDS)
        os.kill(process.pid, number)
        threading.Timer(0.2, go_on.set).start()

        assert process.wait(PATIENCE_SECONDS) == 0
    assert sender.ledger() == Ledger(pending=0, delivered=1, failed=0)


def work_without_sweeps():
    """Sweeps at the start, and not again while a test lasts."""
    return run_worker_process(load_settings(), jobs=[replace(job, every_seconds=1_000_000) for job in JOBS])


def test_a_wake_up_is_answered_without_a_sweep(real_database, fork_worker, environment):
    with receiving() as receiver:
        sender = Sender(real_database, receiver.url)
        sender.send(1)
        fork_worker(work_without_sweeps)
        assert sender.wait_until_done().pending == 0
        real_database.wake = make_wake(load_settings(environment))
        for count in (2, 3):
            # Nothing is under way, whose end would make the worker look; and of the two at most one is swept up.
            sender.send(1)
            assert receiver.wait_for(count, PATIENCE_SECONDS)
            assert sender.wait_until_done().pending == 0


def begin_nothing():
    def prepare(signals):
        assert signals == []
        signal.raise_signal(signal.SIGTERM)
        assert signals == [signal.SIGTERM]

    def fail():
        raise AssertionError("work began")

    return run_worker_process(load_settings(), 1, jobs=(), prepare=prepare, on_ready=fail)


def work_until_a_signal():
    told, is_first = [], threading.Lock()

    def step():
        if is_first.acquire(blocking=False):  # a second signal would end it without grace
            signal.raise_signal(signal.SIGTERM)
        return False

    jobs = [Job("digging", lambda _: step, every_seconds=1)]
    status = run_worker_process(load_settings(), 1, jobs, on_ready=lambda: told.append("ready"))
    assert told == ["ready"]
    return status


def send_until_a_signal():
    return run_sender_process(load_settings(), WakeUpPipe(BEHIND), on_ready=lambda: signal.raise_signal(signal.SIGTERM))


def wait_for_a_signal_that_another_thread_takes():
    stopping, main, looks = threading.Event(), threading.get_ident(), []
    signal.signal(signal.SIGTERM, lambda _number, _frame: stopping.set())
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

    def is_waiting():
        looks.append(sys._current_frames()[main].f_code.co_name)
        return len(looks) > 3 and set(looks[-3:]) <= {"wait", "wait_for_signals"}

    def take():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        wait_until(is_waiting, "the wait")
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=take, daemon=True).start()
    wait_for_signals(stopping)
    return 0


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
class TestEnds:
    """What processes say at their end, in their status, to those who started them."""

    def test_a_sender_notices_a_signal_that_another_of_its_threads_takes(self, fork_worker):
        assert fork_worker(wait_for_a_signal_that_another_thread_takes).wait(PATIENCE_SECONDS) == 0

    def test_after_a_signal_that_comes_while_a_worker_prepares_no_work_begins(self, fork_worker):
        assert fork_worker(begin_nothing).wait(PATIENCE_SECONDS) == 0

    def test_a_worker_tells_that_work_begins_and_ends_well_after_a_signal(self, fork_worker):
        assert fork_worker(work_until_a_signal).wait(PATIENCE_SECONDS) == 0

    def test_a_sender_ends_well_after_a_signal(self, fork_worker):
        assert fork_worker(send_until_a_signal).wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        ((1024, UNLIMITED), [(OPEN_FILES, UNLIMITED)]),
        ((1024, 4096), [(4096, 4096)]),
        ((OPEN_FILES, OPEN_FILES), []),
        ((UNLIMITED, UNLIMITED), []),
    ],
)
def test_a_limit_of_open_files_is_raised_as_far_as_it_may_be_and_never_lowered(monkeypatch, limits, raised):
    changes = []
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, wanted: changes.append(wanted))

    worker_process._allow_many_files()

    assert changes == raised


def heartbeats(database):
    with database.reading() as tx:
        return list_heartbeats(tx)


def test_a_worker_is_seen_again_and_again_while_it_works_and_not_after(database):
    with beating(database, 3, every_seconds=0.02):
        wait_until(lambda: heartbeats(database), "the first beat")
        first = heartbeats(database)[0]
        wait_until(lambda: heartbeats(database)[0].seen_on > first.seen_on, "another beat")

    assert (first.host, first.pid, first.threads, first.version) == (
        socket.gethostname(),
        os.getpid(),
        3,
        program_version(),
    )
    assert first.is_alive
    assert heartbeats(database) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_process_waits_for_a_beat_to_end(database):
    with beating(database, 3):
        beats = [each for each in threading.enumerate() if each.name == "heartbeat"]

    assert beats and all(each.daemon for each in beats)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_beat_that_fails_stops_neither_work_nor_the_next_beat(database, caplog, monkeypatch):
    """Until the table is there, each beat fails; after that they succeed."""
    name = "worker_heartbeat"
    with database.engine.begin() as connection:
        connection.exec_driver_sql(f"ALTER TABLE {name} RENAME TO {name}_away")
    with beating(database, 3, every_seconds=0.02):
        wait_until(lambda: "cannot say that it is alive" in caplog.text, "a beat that fails")
        with database.engine.begin() as connection:
            connection.exec_driver_sql(f"ALTER TABLE {name}_away RENAME TO {name}")
        wait_until(lambda: heartbeats(database), "a beat that succeeds")

    assert caplog.text.count("cannot say that it is alive") == 1


def test_a_worker_without_a_database_ends_all_the_same(tmp_path, caplog):
    broken = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    with beating(broken, 1, every_seconds=0.02):
        wait_until(lambda: "cannot say that it is alive" in caplog.text, "a beat that fails")
    broken.close()

    assert caplog.text.count("cannot say") == 1
