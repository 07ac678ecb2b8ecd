"""A worker of several processes, each of which is killed."""

import os
import re
import signal
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import requests

from persistence.deliveries.outbox import Ledger
from persistence.leases import MUCH
from persistence.tables.messages import WIRED
from persistence.workspaces.writes import create_workspace
from relayboard import cli
from relayboard.worker_processes import choose_senders
from testbed.databases import open_database
from testbed.forked import fork
from testbed.gateways import add_gateway, queue_messages, states_of
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from testbed.tokens import SECRET_KEY
from tests.console_script import make_environment, started
from tests.worker.events import Sender
from tests.worker.receivers import Reply, receiving
from worker.jobs import BEHIND, CALLING, LATER, SHARED
from worker.jobs import JOBS as JOBS_OF_A_WORKER

JOBS, SENDER = 0, 1
WITH_SENDERS = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""The database of workers that have senders unless they are told otherwise."""


@pytest.fixture
def environment(database_url, tmp_path):
    return {
        **make_environment(),
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{tmp_path / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{tmp_path / 'media'}",
        "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "RELAYBOARD_WEBHOOK_RETRY_DELAYS_SECONDS": "0.05,0.05,0.05",
        "RELAYBOARD_WEBHOOK_TIMEOUT_SECONDS": "2",
    }


@pytest.fixture
def real_database(database_url):
    """The database under the real clock."""
    database = open_database(database_url)
    yield database
    database.close()


@pytest.fixture
def start_worker(environment):
    workers = []

    def start(*options):
        workers.append(fork(cli.main, ["worker", *options], environment=environment))
        return workers[-1]

    yield start
    for worker in workers:
        if worker.poll() is None:
            worker.kill()
            worker.wait()


def children_of(pid):
    """The processes that it started, in the order of their starts."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_children(pid, count=2):
    """The process of jobs and senders; where processors are short there may be more of these."""
    wait_until(lambda: len(children_of(pid)) >= count, f"{count} processes of the worker")
    return children_of(pid)


def is_running(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@WITH_SENDERS
def test_a_sender_that_is_killed_is_replaced_and_every_event_arrives(real_database, start_worker):
    seen, gate = Counter(), threading.Event()

    def respond(request):
        seen[request.headers["webhook-id"]] += 1
        if seen.total() > 20:
            gate.wait(PATIENCE_SECONDS)
        return Reply(200)

    with receiving(respond) as receiver:
        sender = Sender(real_database, receiver.url)
        events = sender.send(60)
        worker = start_worker("--senders", "1")
        assert receiver.wait_for(20, PATIENCE_SECONDS)
        pid = wait_for_children(worker.pid)[SENDER]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid not in children_of(worker.pid), "the end of the killed sender")
        gate.set()
        ledger = sender.wait_until_done()

        assert ledger == Ledger(pending=0, delivered=len(events), failed=0)
        assert set(seen) == set(events)
        worker.terminate()
        assert worker.wait(PATIENCE_SECONDS) == 0


@WITH_SENDERS
@pytest.mark.parametrize("killed", ["the parent", "the process of jobs"])
def test_when_the_others_are_killed_a_sender_ends_and_records_what_it_began(
    real_database, start_worker, environment, killed
):
    go_on = threading.Event()
    environment["RELAYBOARD_WEBHOOK_TIMEOUT_SECONDS"] = "60"

    def respond(_request):
        return Reply(200 if go_on.wait(PATIENCE_SECONDS) else 500)

    with receiving(respond) as receiver:
        sender = Sender(real_database, receiver.url)
        sender.send(1)
        worker = start_worker("--senders", "1")
        assert receiver.wait_for(1, PATIENCE_SECONDS)
        children = wait_for_children(worker.pid)
        os.kill(worker.pid if killed == "the parent" else children[JOBS], signal.SIGKILL)
        go_on.set()

        assert sender.wait_until_done() == Ledger(pending=0, delivered=1, failed=0)
        assert worker.wait(PATIENCE_SECONDS) == (-signal.SIGKILL if killed == "the parent" else 128 + signal.SIGKILL)
        wait_until(lambda: not any(is_running(pid) for pid in children), "the end of the others")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_without_senders_one_process_does_everything(start_worker, real_database):
    with receiving() as receiver:
        sender = Sender(real_database, receiver.url)
        sender.send(1)
        worker = start_worker("--senders", "0")
        assert receiver.wait_for(1, PATIENCE_SECONDS)

        assert children_of(worker.pid) == []


def test_a_worker_has_a_sender_where_the_database_lets_it_work_beside_the_jobs():
    assert choose_senders("postgresql://localhost/x") == 1
    assert choose_senders("sqlite:///x.db") == 0


def test_little_and_much_are_done_and_every_job_by_somebody(real_database, start_worker, environment):
    environment["RELAYBOARD_WEBHOOK_TIMEOUT_SECONDS"] = (
        "60"  # a gateway that is called too late is called after minutes
    )
    kinds = {job.kind for job in JOBS_OF_A_WORKER}
    assert set(BEHIND) < kinds
    assert set(CALLING) < set(SHARED) < set(BEHIND)
    assert not set(SHARED) & set(LATER)
    with real_database.writing() as tx:
        workspace = create_workspace(tx, "Riverside Health")
    with receiving() as receiver:
        much, little = (add_gateway(real_database, workspace, f"{receiver.url}?{name}") for name in ("much", "little"))
        ids = queue_messages(real_database, workspace, much, 3 * MUCH)
        start_worker("--senders", "1")
        ids += queue_messages(real_database, workspace, little)

        wait_until(lambda: {state for state, _ in states_of(real_database, ids)} == {WIRED}, "all messages to go out")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_metrics_of_a_worker_count_what_its_sender_does(real_database, environment, tmp_path):
    command = [sys.executable, "-m", "relayboard", "worker", "--senders", "1", "--metrics-port", "0"]
    with receiving() as receiver:
        sender = Sender(real_database, receiver.url)
        sender.send(1)
        with started(folder=Path.cwd(), environment=environment, command=command) as worker:
            address = worker.wait_for(r"metrics of this worker are at (http://\S+)").group(1)
            counted = re.compile(r'^relayboard_delivery_attempts_total\{outcome="delivered"\} 1\.0$', re.MULTILINE)

            wait_until(lambda: counted.search(requests.get(address, timeout=60).text), "the attempt to be counted")
            assert worker.stop() == 0
