"""PostgreSQL is shut down in the middle of deliveries: no event is lost, and all processes recover."""

import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from persistence.database import Database
from persistence.deliveries.outbox import Ledger, count_deliveries, record_channel_event
from persistence.errors import DatabaseError
from persistence.migrations import upgrade
from persistence.workspaces.records import Workspace
from testbed.gateways import add_gateway, queue_messages, states_of
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from testbed.servers import FOLDER, postgres_database, start_again, start_postgres
from tests.channel_rows import add_channel
from tests.gateways import Parts
from tests.thinned import EVERY_CASE
from tests.worker.receivers import Received, Receiver, Reply, receiving
from worker.channels.sending import FIRST_SLOTS

EVENTS, RESTARTS_AFTER = (150, (30, 90)) if EVERY_CASE else (80, (30,))
"""So many events have arrived when the server goes down."""
SHORT, LONGER_THAN_A_RESTART = "5", "60"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server that these tests alone may stop."""
    folder = tempfile.mkdtemp(prefix="pg", dir=FOLDER)
    os.chmod(folder, 0o777)
    started = start_postgres(folder)
    yield started
    started.cleanup()


@pytest.fixture(scope="module")
def template(server: Any) -> Iterator[str]:
    """The name of a migrated database, which tests copy."""
    with postgres_database(url_of(server)) as url:
        engine = create_engine(url)
        upgrade(engine)
        engine.dispose()
        yield make_url(url).database or ""


def url_of(server: Any) -> str:
    url: str = server.get_uri()
    return url.replace("postgresql://", "postgresql+psycopg2://", 1)


@pytest.fixture
def timeout() -> str:
    """The time limit of a call. What was taken while the server went down is free again after twice as long."""
    return SHORT


@pytest.fixture
def service(server: Any, template: str, tmp_path: Path, timeout: str) -> Iterator[RunningService]:
    with (
        postgres_database(url_of(server), template) as url,
        forked_service(url, tmp_path, WEBHOOK_TIMEOUT_SECONDS=timeout) as running,
    ):
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def restart(server: Any) -> None:
    """Shuts the server down immediately, and starts it again."""
    os.kill(server.get_pid(), signal.SIGQUIT)
    wait_until(lambda: not (server.pgdata / "postmaster.pid").exists(), "PostgreSQL to stop")
    start_again(server)


def record_events(database: Database, workspace: Workspace, url: str) -> set[str | None]:
    channel_id = add_channel(database, workspace, webhook_url=url)
    with database.writing() as tx:
        return {record_channel_event(tx, workspace.id, channel_id, "mo_sms", {"n": n}) for n in range(EVENTS)}


def is_all_delivered(database: Database, workspace: Workspace) -> bool:
    with contextlib.suppress(DatabaseError), database.reading() as tx:
        return count_deliveries(tx, workspace.id) == Ledger(pending=0, delivered=EVENTS, failed=0)
    return False


def test_restarts_of_postgresql_lose_no_event_and_the_api_answers_again(
    server: Any, service: RunningService, receiver: Receiver
) -> None:
    service.post("/api/v2/labels.json", {"name": "Complaint"})
    events = record_events(service.database, service.workspace, receiver.url)

    for count in RESTARTS_AFTER:
        wait_until(lambda count=count: len(receiver.received) >= count, f"{count} events")
        restart(server)
    wait_until(lambda: is_all_delivered(service.database, service.workspace), "all events to be delivered")

    service.wait_until_ready()
    assert [each["name"] for each in service.get("/api/v2/labels.json")["results"]] == ["Complaint"]
    assert {request.headers["webhook-id"] for request in receiver.received} == events
    assert set(service.processes) == {"api", "worker"}
    assert all(process.poll() is None for process in service.processes.values())


@pytest.mark.parametrize("timeout", [LONGER_THAN_A_RESTART])
def test_a_restart_between_a_request_and_its_answer_leaves_nothing_uncertain(
    server: Any, service: RunningService
) -> None:
    answers = threading.Event()

    def hold(_request: Received) -> Reply:
        answers.wait(PATIENCE_SECONDS)
        return Reply(200)

    def states() -> set[tuple[str, str | None]]:
        with contextlib.suppress(DatabaseError):
            return set(states_of(service.database, ids))
        return set()

    parts = Parts(hold)
    with receiving(parts) as gateway:
        channel_id = add_gateway(service.database, service.workspace, gateway.url)
        ids = queue_messages(service.database, service.workspace, channel_id, FIRST_SLOTS)
        wait_until(lambda: parts.counts.total() == FIRST_SLOTS, "all requests to be on the wire")
        restart(server)
        answers.set()
        wait_until(lambda: states() == {("wired", None)}, "all messages to be wired")

    assert (len(parts.counts), parts.doubled) == (FIRST_SLOTS, [])
