import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest

from persistence.database import Database
from persistence.deliveries.ledger import Ledger
from relayboard.base.settings import load_settings
from testbed.forked import fork, run_worker
from testbed.patience import PATIENCE_SECONDS
from tests.worker.events import Sender
from tests.worker.receivers import Reply, receiving
from worker.wake import make_wake


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
def start_worker(environment):
    """Starts real worker processes; those that still run are killed with the test."""
    started = []

    def start(arguments=("-m", "relayboard", "worker")):
        process = subprocess.Popen([sys.executable, *arguments], env=environment)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def fork_worker(environment):
    """Starts workers that have the program loaded, for a test that starts many."""
    forked = []

    def start():
        forked.append(fork(run_worker, environment=environment))
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
def test_a_signal_lets_calls_under_way_end_and_be_recorded(real_database, start_worker, number):
    begun, go_on = threading.Event(), threading.Event()

    def respond(request):
        begun.set()
        return Reply(200 if go_on.wait(PATIENCE_SECONDS) else 500)

    with receiving(respond) as receiver:
        sender = Sender(real_database, receiver.url)
        sender.send(1)
        process = start_worker()
        assert begun.wait(PATIENCE_SECONDS)
        process.send_signal(number)
        threading.Timer(0.2, go_on.set).start()

        assert process.wait(PATIENCE_SECONDS) == 0
    assert sender.ledger() == Ledger(pending=0, delivered=1, failed=0)


def test_a_wake_up_is_answered_without_a_sweep(real_database, start_worker, environment):
    with receiving() as receiver:
        sender = Sender(real_database, receiver.url)
        sender.send(1)
        start_worker(["-c", WITHOUT_SWEEPS])
        assert sender.wait_until_done().pending == 0
        real_database.wake = make_wake(load_settings(environment))
        for count in (2, 3):
            # Nothing is under way, whose end would make the worker look; and of the two at most one is swept up.
            sender.send(1)
            assert receiver.wait_for(count, PATIENCE_SECONDS)
            assert sender.wait_until_done().pending == 0


WITHOUT_SWEEPS = """
from dataclasses import replace
from relayboard.base.settings import load_settings
from worker.jobs import JOBS
from worker.process import run_worker_process

run_worker_process(load_settings(), jobs=[replace(job, every_seconds=1_000_000) for job in JOBS])
"""
"""A worker process that sweeps when it starts, and not again while a test lasts."""


def test_killing_the_worker_again_and_again_loses_no_event(real_database, fork_worker):
    seen = Counter()

    def respond(request):
        seen[request.headers["webhook-id"]] += 1
        threading.Event().wait(0.01)
        return Reply(500 if seen[request.headers["webhook-id"]] == 1 and len(seen) % 5 == 0 else 200)

    with receiving(respond) as receiver:
        sender = Sender(real_database, receiver.url)
        events = sender.send(300)
        for kills in range(4):
            process = fork_worker()
            assert receiver.wait_for(40 * (kills + 1), PATIENCE_SECONDS)
            process.kill()
            process.wait()
            events += sender.send(20)
            assert sender.ledger().total == len(events)
        fork_worker()
        ledger = sender.wait_until_done()

    assert ledger == Ledger(pending=0, delivered=len(events), failed=0)
    assert set(seen) == set(events)
